"""Sessions: create, get, list, change, delete."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from turnlog.domain.errors import FieldError, InvalidRequest, PreconditionFailed, SessionExists, SessionNotFound
from turnlog.domain.exactjson import EMPTY
from turnlog.domain.ports import ListOrder, Order
from turnlog.domain.session import SessionChanges, StoredSession
from turnlog.service import CreateSession

from .. import cursors, wire
from ..answer import Answer
from ..call import Call
from ..limits import MAX_LIMIT, SESSIONS_LIMIT
from ..schemas import CreateSessionBody, PatchSessionBody, RecursiveSummarization, stored_policy

LIST_QUERY: Final = ("limit", "cursor", "order", "order_by")


def create(call: Call) -> Answer:
    """``POST /v1/sessions``: 201, 409 for a taken id, 412 for one with ``If-None-Match: *``."""
    user, only_if_new = call.user, call.if_none_match_any
    call.query()
    body = call.body(CreateSessionBody)
    _check_model(call, body)
    request = CreateSession(
        user_id=user,
        id=body.id,
        ttl_seconds=body.ttl_seconds,
        metadata=body.metadata,
        compaction=stored_policy(body),
        allow_system_messages=body.allow_system_messages,
    )
    try:
        stored = call.service.create(request, key=call.idempotency_key())
    except SessionExists as taken:
        if not only_if_new:
            raise
        raise PreconditionFailed(
            taken.detail,
            version=_own_version(call, taken.id),
            errors=[FieldError("header:If-None-Match", "the id is taken")],
        ) from None
    # Relative to the request's URL, so that it is right below any prefix of a gateway.
    return _session(stored, status=201, location=f"sessions/{stored.id}")


def get(call: Call) -> Answer:
    """``GET /v1/sessions/{sid}``."""
    user, session_id = call.user, call.session_id
    call.query()
    return _session(call.service.get(user, session_id))


def list_sessions(call: Call) -> Answer:
    """``GET /v1/sessions``: the caller's live sessions, a page at a time."""
    user, query = call.user, call.query(LIST_QUERY)
    limit = query.number("limit", 1, MAX_LIMIT) or SESSIONS_LIMIT
    order: Order = query.choice("order", ("asc", "desc")) or "desc"
    order_by: ListOrder = query.choice("order_by", ("created", "activity")) or "created"
    scope = cursors.scope_of("sessions", call.identity.tenant, user, order, order_by)
    given = query.values.get("cursor")
    token = None if given is None else cursors.decode_sessions(given, scope)
    page = call.service.list(user, limit=limit, order=order, order_by=order_by, token=token)
    following = None if page.next_token is None else cursors.encode_sessions(page.next_token, scope)
    body = wire.page_json((wire.entry_json(entry) for entry in page.entries), following)
    return Answer(200, body, next_link({**query.values}, following))


def patch(call: Call) -> Answer:
    """``PATCH /v1/sessions/{sid}``: metadata, lifetime, policy, flags; null clears."""
    user, session_id, if_match = call.user, call.session_id, call.if_match
    call.query()
    body = call.body(PatchSessionBody)
    _check_model(call, body)
    given = body.model_fields_set
    changes = SessionChanges(
        metadata=(body.metadata or EMPTY) if "metadata" in given else None,
        set_expires_at="ttl_seconds" in given,
        expires_at=None if body.ttl_seconds is None else call.now().plus_seconds(body.ttl_seconds),
        set_compaction="compaction" in given,
        compaction=stored_policy(body),
        set_allow_system_messages="allow_system_messages" in given,
        allow_system_messages=body.allow_system_messages,
    )
    return _session(call.service.update(user, session_id, changes, if_match=if_match))


def delete(call: Call) -> Answer:
    """``DELETE /v1/sessions/{sid}``: 204, and 404 from then on."""
    user, session_id, if_match = call.user, call.session_id, call.if_match
    call.query()
    call.service.delete(user, session_id, if_match=if_match)
    return Answer(204, content_type=None)


def _check_model(call: Call, body: CreateSessionBody | PatchSessionBody) -> None:
    """A policy may name the models of the stage only; another one would fail at its first pass."""
    strategy = None if body.compaction is None else body.compaction.strategy
    if isinstance(strategy, RecursiveSummarization) and strategy.model not in call.models:
        known = ", ".join(call.models) or "none"
        raise InvalidRequest.at("/compaction/strategy/model", f"is not a model of this stage; there is: {known}")


def next_link(query: dict[str, str], cursor: str | None) -> dict[str, str]:
    """The RFC 8288 ``Link`` to the next page: the same query with another cursor, relative."""
    if cursor is None:
        return {}
    return {"link": f'<?{urlencode({**query, "cursor": cursor})}>; rel="next"'}


def _session(stored: StoredSession, *, status: int = 200, location: str | None = None) -> Answer:
    headers = {"etag": stored.version.etag(stored.rev)}
    if location is not None:
        headers["location"] = location
    return Answer(status, wire.session_json(stored), headers)


def _own_version(call: Call, session_id: str) -> str | None:
    """The ETag of the session in the way, unless it is somebody else's."""
    try:
        stored = call.service.get(call.user, session_id)
    except SessionNotFound:
        return None
    return stored.version.etag(stored.rev)
