"""Compactions: run, list, get one, undo."""

from __future__ import annotations

from typing import Final

from .. import cursors, wire
from ..answer import Answer
from ..call import Call
from ..limits import MAX_LIMIT, PASSES_LIMIT
from ..schemas import CompactBody
from .sessions import next_link

LIST_QUERY: Final = ("limit", "cursor")
STATUSES: Final = {"compacted": 201, "started": 202}
"""Every other outcome is 200: nothing has come into being."""


def compact(call: Call) -> Answer:
    """``POST /v1/sessions/{sid}/compactions``: 201, 202 when a model writes the summary, or 200."""
    user, session_id, if_match = call.user, call.session_id, call.if_match
    call.query()
    body = call.body(CompactBody)
    done = call.compactor.compact(user, session_id, body.command(), if_match=if_match)
    status = 200 if body.dry_run else STATUSES.get(done.status, 200)
    headers = {"etag": done.version.etag()}
    if status != 200:
        headers["location"] = f"compactions/{done.id}"
    counts = {f"Compactions_{done.status}": 1}
    return Answer(status, wire.compaction_json(done, dry_run=body.dry_run), headers, counts=counts)


def list_compactions(call: Call) -> Answer:
    """``GET /v1/sessions/{sid}/compactions``: the passes, the newest first, a page at a time."""
    user, session_id, query = call.user, call.session_id, call.query(LIST_QUERY)
    limit = query.number("limit", 1, MAX_LIMIT) or PASSES_LIMIT
    scope = cursors.scope_of("compactions", call.identity.tenant, user, session_id)
    given = query.values.get("cursor")
    first = None if given is None else cursors.decode_passes(given, scope)
    session, page = call.compactor.history(user, session_id, first=first, limit=limit)
    following = None if page.next_id is None else cursors.encode_passes(page.next_id, scope)
    body = wire.passes_json(page, session.attempt, following)
    return Answer(200, body, {"etag": session.version.etag(), **next_link({**query.values}, following)})


def get(call: Call) -> Answer:
    """``GET /v1/sessions/{sid}/compactions/{cid}``: a pass, or the try that is to become it."""
    user, session_id, pass_id = call.user, call.session_id, call.pass_id
    call.query()
    session, found = call.compactor.find(user, session_id, pass_id)
    return Answer(200, wire.found_json(found), {"etag": session.version.etag()})


def undo(call: Call) -> Answer:
    """``POST /v1/sessions/{sid}/compactions/{cid}/undo``: 200; repeating it changes nothing more."""
    user, session_id, pass_id = call.user, call.session_id, call.pass_id
    call.query()
    version, record = call.compactor.undo(user, session_id, pass_id)
    return Answer(200, wire.pass_json(record), {"etag": version.etag()}, counts={"Compactions_undone": 1})
