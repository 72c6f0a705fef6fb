"""Events: append, list, get one."""

from __future__ import annotations

from typing import Final, get_args

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.filter import EventFilter, MatchMode
from turnlog.domain.message import Role
from turnlog.domain.ports import Order
from turnlog.service import MAX_LAST_N, PageLimits

from .. import cursors, wire
from ..answer import Answer
from ..call import Call
from ..limits import EVENTS_LIMIT, MAX_LIMIT, PAGE_BODY_BYTES
from ..query import Query
from ..schemas import AppendBody
from .sessions import next_link

ROLES: Final[tuple[Role, ...]] = get_args(Role)
LIST_QUERY: Final = (
    "types",
    "from",
    "to",
    "exclude_synthetic",
    "archived",
    "branch",
    "keyword",
    "keywords",
    "match",
    "last_n",
    "limit",
    "cursor",
    "order",
)
_DEFAULTS: Final = {"order": "asc", "exclude_synthetic": "false", "match": "any"}


def append(call: Call) -> Answer:
    """``POST /v1/sessions/{sid}/events``: 201, or 200 when every event was there already."""
    user, session_id, if_match = call.user, call.session_id, call.if_match
    call.query()
    body = call.body(AppendBody)
    result = call.service.append(
        user,
        session_id,
        tuple(event.draft() for event in body.events),
        create_if_missing=body.create_if_missing,
        if_match=if_match,
        key=call.idempotency_key(),
    )
    replays = sum(event.replayed for event in result.events)
    counts = {"EventsAppended": len(result.events) - replays, "EventsReplayed": replays}
    status = 200 if result.all_replayed else 201
    return Answer(status, wire.append_json(result), {"etag": result.version.etag()}, counts=counts)


def list_events(call: Call) -> Answer:
    """``GET /v1/sessions/{sid}/events``: the log under a filter, a page at a time."""
    user, session_id, query = call.user, call.session_id, call.query(LIST_QUERY)
    filter, order = _filter(query), _order(query)
    limit = query.number("limit", 1, MAX_LIMIT)
    if limit is not None and filter.last_n is not None:
        raise InvalidRequest.at("query:limit", "cannot be combined with last_n")
    scope = cursors.scope_of("events", call.identity.tenant, user, session_id, _criteria(query))
    given = query.values.get("cursor")
    rows = wire.EventRows(lambda event: call.service.event_link(page.session, event))
    page = call.service.events(
        user,
        session_id,
        filter,
        order=order,
        limits=PageLimits(filter.last_n or limit or EVENTS_LIMIT, PAGE_BODY_BYTES, rows.measure),
        cursor=None if given is None else cursors.decode_events(given, scope, last_n=filter.last_n),
    )
    following = None if page.cursor is None else cursors.encode_events(page.cursor, scope)
    body = wire.page_json(map(rows.row, page.events), following)
    return Answer(200, body, {"etag": page.session.version.etag(), **next_link({**query.values}, following)})


def get(call: Call) -> Answer:
    """``GET /v1/sessions/{sid}/events/{eid}``."""
    user, session_id, event_id = call.user, call.session_id, call.event_id
    call.query()
    session, event = call.service.event(user, session_id, event_id)
    rows = wire.EventRows(lambda event: call.service.event_link(session, event))
    return Answer(200, rows.row(event), {"etag": session.version.etag()})


def _criteria(query: Query) -> list[str]:
    """What a cursor is bound to: all that was asked, where a default left out is one written out."""
    asked = {**_DEFAULTS, **query.values}
    return sorted(f"{name}={value}" for name, value in asked.items() if name not in ("limit", "cursor"))


def _order(query: Query) -> Order:
    return query.choice("order", ("asc", "desc")) or "asc"


def _filter(query: Query) -> EventFilter:
    keywords = query.words("keywords")
    match: MatchMode | None = query.choice("match", ("any", "all"))
    if match is not None and keywords is None:
        raise InvalidRequest.at("query:match", "needs keywords")
    return EventFilter(
        from_=query.instant("from"),
        to=query.instant("to"),
        types=_types(query),
        exclude_synthetic=query.flag("exclude_synthetic") or False,
        archived=query.flag("archived"),
        last_n=query.number("last_n", 1, MAX_LAST_N),
        keyword=query.text("keyword"),
        keywords=keywords,
        match=match,
        branch=query.branch("branch"),
    )


def _types(query: Query) -> frozenset[Role] | None:
    words = query.words("types")
    if words is None:
        return None
    if not set(words) <= set(ROLES):
        raise InvalidRequest.at("query:types", f"must be of {', '.join(ROLES)}, separated by commas")
    return frozenset(role for role in ROLES if role in words)
