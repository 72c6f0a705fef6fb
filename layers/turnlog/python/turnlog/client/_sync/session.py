# Made from ../_async/session.py by .ci/unasync.py: change that one.
"""One session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Protocol, TypeVar

from ...domain.event import SessionEvent
from ...domain.exactjson import JsonValue
from ...domain.filter import MatchMode
from ...domain.message import Role
from ...domain.ports import Appended, Order
from .. import _calls as calls
from .. import _parts as parts
from .._calls import Call, EventQuery
from .._messages import EventLike, InstantLike
from .._models import UNSET, AppendResult, LinkedEvent, Page, SessionInfo, Unset, Upload
from .._sources import Source
from .compactions import Compactions
from .files import opened
from .pager import Pager
from .transfer import Transfers

T = TypeVar("T")


class Run(Protocol):
    """What makes a call, with its retries: the client behind a session."""

    def __call__(self, call: Call[T], /) -> T:
        """The call's value, or its error."""
        ...


class Session(Compactions):
    """One session: its address and what can be done with it. It holds no state but the id, so
    making one costs nothing and none can be out of date.

    Any method can raise ``Unauthorized``, ``Forbidden``, ``SessionNotFound`` (unknown, deleted,
    expired, or another user's) and, once the retries are used up, ``StoreUnavailable``,
    ``RateLimited``, ``ConnectionFailed``, ``TimedOut``. The methods name what else they raise.
    """

    def __init__(self, run: Run, transfers: Transfers, id: str) -> None:
        """Use :meth:`Client.session`."""
        self._run = run
        self._transfers = transfers
        self._id = id

    @property
    def id(self) -> str:
        """The session's id."""
        return self._id

    def __repr__(self) -> str:
        return f"Session({self._id!r})"

    # ------------------------------------------------------------------ the record

    def create(
        self,
        *,
        ttl_seconds: int | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        compaction: Mapping[str, JsonValue] | None = None,
        allow_system_messages: bool | None = None,
        idempotency_key: str | None = None,
    ) -> SessionInfo:
        """Create it. None means the server's default.

        Args:
            ttl_seconds: Lifetime from now; at least 60.
            metadata: Any JSON object of yours.
            compaction: The policy by which it is compacted.
            allow_system_messages: Whether system messages are stored.
            idempotency_key: The same key again answers the same session. The client makes one
                for its own retries; give yours to retry from another process.

        Raises:
            SessionExists: a live session has the id, whoever owns it.
            IdempotencyKeyReused: the key came before with another request.
            InvalidRequest, MalformedJson: a value is not valid; ``errors`` says which.
        """
        return self._run(
            calls.create_session(
                self._id,
                ttl_seconds=ttl_seconds,
                metadata=metadata,
                compaction=compaction,
                allow_system_messages=allow_system_messages,
                idempotency_key=parts.key_of(idempotency_key),
            )
        )

    def get(self) -> SessionInfo:
        """The session as it is now."""
        return self._run(calls.get_session(self._id))

    def update(
        self,
        *,
        metadata: Mapping[str, JsonValue] | Unset | None = UNSET,
        ttl_seconds: int | Unset | None = UNSET,
        compaction: Mapping[str, JsonValue] | Unset | None = UNSET,
        allow_system_messages: bool | Unset | None = UNSET,
        if_match: str | None = None,
    ) -> SessionInfo:
        """Change what is given and leave the rest. None clears: no expiry, no policy, the
        server's default for system messages.

        Args:
            metadata: Replaces the whole object; None or ``{}`` empties it.
            ttl_seconds: A new lifetime, counted from now; at least 60.
            compaction: Another policy.
            allow_system_messages: Whether system messages are stored.
            if_match: The ``etag`` of a :class:`SessionInfo`: only if nothing has changed since.

        Raises:
            PreconditionFailed: something has; ``version`` is the current tag. After a lost answer
                it may be this very change (the error then has a note): read and decide again.
            InvalidRequest, MalformedJson: a value is not valid; ``errors`` says which.
        """
        return self._run(
            calls.update_session(
                self._id,
                metadata=metadata,
                ttl_seconds=ttl_seconds,
                compaction=compaction,
                allow_system_messages=allow_system_messages,
                if_match=if_match,
            )
        )

    def delete(self, *, if_match: str | None = None) -> None:
        """End it for good.

        Raises:
            PreconditionFailed: it has changed since ``if_match``.
        """
        self._run(calls.delete_session(self._id, if_match=if_match))

    # ------------------------------------------------------------------ the log

    def append(
        self,
        *events: EventLike,
        create_if_missing: bool = False,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Append up to 100 events, all or none, in this order. When it returns they are stored.

        Each event is a message, a mapping in Turnlog's message shape, or a :func:`draft`. An event
        whose id is in the log already, with the same content, is a replay and keeps its place.

        Args:
            *events: What to append.
            create_if_missing: Create the session first when there is none.
            if_match: The ``etag`` of an earlier answer: only if nothing was appended since.
            idempotency_key: The same key with the same events again gives the first answer, from
                whatever process. The ids of events without one follow from it.

        Raises:
            InvalidRequest, MalformedJson: an event is not valid; ``errors`` says which and why.
            EventIdReused: an id is in the log with other content.
            IdempotencyKeyReused: the key came before with another request.
            PreconditionFailed: the log has changed since ``if_match``; ``version`` is the new tag.
            PayloadTooLarge: over 4 MiB; see :meth:`append_all`.
        """
        key = parts.key_of(idempotency_key)
        call = calls.append_events(
            self._id,
            calls.whole_batch(events, key),
            create_if_missing=create_if_missing,
            key=key,
            if_match=if_match,
            send_key=idempotency_key is not None,
        )
        return self._run(call)

    def append_all(
        self, events: Iterable[EventLike], *, create_if_missing: bool = False, idempotency_key: str | None = None
    ) -> tuple[Appended, ...]:
        """Append any number of events, in requests that fit the limits. Each request is all or
        nothing, the whole is not; it can be gone on with instead: call it again with the same
        events and the same ``idempotency_key``, and what is stored already is replayed.

        The key of a call that had none stands in ``error.idempotency_key``. No events: no request.

        Raises:
            What :meth:`append` raises; positions in ``errors`` count in ``events``.
        """
        key = parts.key_of(idempotency_key)
        stored: list[Appended] = []
        for batch in calls.batches(events, key):
            call = calls.append_events(self._id, batch, create_if_missing=create_if_missing, key=key)
            stored += (self._run(call)).events
        return tuple(stored)

    def event(self, event_id: str) -> SessionEvent:
        """One event by its id.

        Raises:
            EventNotFound: the session holds none of that id.
        """
        return self._whole(self._run(calls.get_event(self._id, event_id)))

    def events(
        self,
        *,
        types: Iterable[Role] | None = None,
        from_: InstantLike | None = None,
        to: InstantLike | None = None,
        exclude_synthetic: bool = False,
        archived: bool | None = None,
        branch: str | None = None,
        keyword: str | None = None,
        keywords: Iterable[str] | None = None,
        match: MatchMode | None = None,
        last_n: int | None = None,
        order: Order = "asc",
        page_size: int | None = None,
    ) -> Pager[SessionEvent]:
        """The events for which everything given holds, in log order.

        Args:
            types: Roles of the messages.
            from_: The earliest timestamp, inclusive.
            to: The latest timestamp, inclusive.
            exclude_synthetic: Leave out what a compaction pass has made.
            archived: None for all, False for the active window only, True for the archive only.
            branch: What an agent on that branch sees: the root, its ancestors and itself.
            keyword: Text that the message holds, in any case.
            keywords: Several such texts, without commas.
            match: Whether "any" of ``keywords`` is enough (the default), or "all" have to be there.
            last_n: Only the newest so many (at most 1,000), still in ``order``.
            order: "asc", oldest first, or "desc".
            page_size: How many events one request brings at most: 1 to 100.

        Raises:
            InvalidRequest, MalformedJson: a value is not valid; the server's verdict comes while
                the events are read.
        """
        query = EventQuery(
            types=types,
            from_=from_,
            to=to,
            exclude_synthetic=exclude_synthetic,
            archived=archived,
            branch=branch,
            keyword=keyword,
            keywords=keywords,
            match=match,
            last_n=last_n,
            order=order,
            page_size=page_size,
        ).parameters()

        def page(cursor: str | None) -> Page[SessionEvent]:
            found = self._run(calls.list_events(self._id, query, cursor))
            return Page(tuple([self._whole(event) for event in found.items]), found.next_cursor)

        return Pager(page)

    def _whole(self, event: SessionEvent | LinkedEvent) -> SessionEvent:
        """The event with its message, fetched from where its link leads. A link works for minutes,
        and a page may be looked at later than that: then the event is read once more."""
        if isinstance(event, SessionEvent):
            return event
        text = self._transfers.linked(event.link)
        if text is not None:
            return event.with_message(text)
        again = self._run(calls.get_event(self._id, event.id))
        if isinstance(again, SessionEvent):
            return again
        return event.with_message(self._transfers.linked_again(again.link))

    # ------------------------------------------------------------------ uploads

    def upload(self, source: Source, *, media_type: str) -> Upload:
        """Upload an image, a file or a sound into the session, and get what a message names it by:
        ``user("Look at this", upload)``. When it returns the content is stored.

        Args:
            source: The content as ``bytes``, the path of a file, or a binary file that is open for
                reading. It is read twice: for its checksum, then to be sent; a file that cannot
                seek is copied into a temporary one. Memory holds a piece at a time.
            media_type: What it is: ``image/png``.

        Raises:
            InvalidRequest: the media type is none, or the content is empty or over 100 MiB.
            TransferFailed: the storage refused it.
            OSError: the file cannot be read.
        """
        with opened(source) as content:
            return self._transfers.upload(self._id, content, media_type)

    def download(self, ref: str | Upload, to: str | PathLike[str]) -> Upload:
        """Write the content of an upload to a file. The file appears whole or not at all; it replaces
        a regular file of that name, and keeps who may read that one.

        Raises:
            UploadNotFound: nothing has been uploaded into this session under that ref.
            TransferFailed: the storage refused, or what came is not what was uploaded.
            OSError: the file cannot be written.
        """
        return self._transfers.download(self._id, parts.ref_of(ref), Path(to))

    def read_upload(self, ref: str | Upload) -> bytes:
        """The content of an upload, in memory.

        Raises:
            UploadNotFound: nothing has been uploaded into this session under that ref.
            TransferFailed: the storage refused, or what came is not what was uploaded.
        """
        return self._transfers.read(self._id, parts.ref_of(ref))
