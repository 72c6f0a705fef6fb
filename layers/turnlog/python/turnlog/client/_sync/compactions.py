# Made from ../_async/compactions.py by .ci/unasync.py: change that one.
"""What a session can do about its active window."""

from __future__ import annotations

from collections.abc import Mapping

from ...domain.exactjson import JsonValue
from .. import _compactions as calls
from .._compactions import CompactionLike
from .._models import Compaction, CompactionAttempt, CompactionInfo, Page
from .pager import Pager
from .transfer import Run


class Compactions:
    """The part of :class:`Session` that is about compactions."""

    _run: Run
    _id: str

    def compact(
        self,
        *,
        trigger: Mapping[str, JsonValue] | None = None,
        strategy: Mapping[str, JsonValue] | None = None,
        force: bool = False,
        dry_run: bool = False,
        if_match: str | None = None,
    ) -> Compaction:
        """Archive old events, so that they no longer go to the model; nothing is deleted. Without a
        strategy the session's policy, or its stage's, is carried out, its trigger included.

        It is repeated like every call, and that is safe: where an attempt whose answer got lost has done
        its work, the next one finds nothing to do (``nothing_to_do``), or the summary under way
        (``coalesced``), or, under ``if_match``, another version.

        Args:
            trigger: When to do it at all; without one a strategy of yours runs in any case.
            strategy: What stays.
            force: Whatever triggers say, and though an earlier try has failed a moment ago.
            dry_run: Only tell what would happen.
            if_match: The ``etag`` of an earlier answer: only if nothing was appended since.

        Raises:
            InvalidRequest, MalformedJson: a value is not valid, or there is no policy; ``errors`` says which.
            PreconditionFailed: the log has changed since ``if_match``; ``version`` is the current tag.
            TooFragmented: too many separate stretches of the log would be archived.
            PayloadTooLarge: trigger or strategy is over 4 KiB.
        """
        return self._run(
            calls.compact(self._id, trigger=trigger, strategy=strategy, force=force, dry_run=dry_run, if_match=if_match)
        )

    def compactions(self, *, page_size: int | None = None) -> Pager[CompactionInfo]:
        """The compactions that count, undos among them, the newest first; ``page_size`` (1 to 100) is what
        one request brings.

        Raises:
            InvalidRequest: while it is read.
        """

        def page(cursor: str | None) -> Page[CompactionInfo]:
            return self._run(calls.list_compactions(self._id, page_size=page_size, cursor=cursor))

        return Pager(page)

    def compaction(self, id: CompactionLike) -> CompactionInfo | CompactionAttempt:
        """One compaction by its id; while it is being made, and after it has failed, the attempt.

        Raises:
            PassNotFound: the session has neither under that id.
        """
        return self._run(calls.get_compaction(self._id, id))

    def compaction_attempt(self) -> CompactionAttempt | None:
        """The newest try, when it has changed nothing: why a policy does nothing at the moment. None when
        there is nothing of the kind to tell."""
        return self._run(calls.newest_attempt(self._id))

    def undo(self, compaction: CompactionLike) -> CompactionInfo:
        """Bring the active window back as it was before the newest compaction, with what was appended since.
        An undo is a compaction of its own: undoing it does the first one again. Repeating it is safe.

        Raises:
            PassNotFound: the session has no such compaction.
            NotNewestPass: another one has followed.
        """
        return self._run(calls.undo(self._id, compaction))
