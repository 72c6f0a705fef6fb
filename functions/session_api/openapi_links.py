"""Where an answer leads: the OpenAPI links, by operation, status and name (OpenAPI 3.1, "Link Object")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]

_OWN_ID: Final = {"path.sid": "$response.body#/id"}
_SAME_SESSION: Final = {"path.sid": "$request.path.sid"}
_THIS_VERSION: Final = {"header.If-Match": "$response.header.ETag"}


def _link(operation_id: str, description: str, *parameters: Mapping[str, str]) -> Json:
    merged = {name: value for part in parameters for name, value in part.items()}
    return {"operationId": operation_id, "description": description, "parameters": merged}


def _of_session(sid: Mapping[str, str]) -> Json:
    return {
        "session": _link("sessions_get", "The session as it is then", sid),
        "change": _link("sessions_patch", "Change this version of it", sid, _THIS_VERSION),
        "delete": _link("sessions_delete", "Delete this version of it", sid, _THIS_VERSION),
        "append": _link("events_append", "Append to its log", sid),
        "events": _link("list_events", "Its log", sid),
        "upload": _link("uploads_create", "Upload media for its messages", sid),
        "compact": _link("compact", "Compact its active window", sid),
        "compactions": _link("list_compactions", "Its compactions", sid),
    }


def _of_append() -> Json:
    eid = {"path.eid": "$response.body#/events/0/id"}
    return {
        "event": _link("events_get", "The first event of the batch", _SAME_SESSION, eid),
        "events": _link("list_events", "The log with the batch in it", _SAME_SESSION),
        "append": _link("events_append", "Append right behind the batch, or not at all", _SAME_SESSION, _THIS_VERSION),
    }


def _of_compaction() -> Json:
    cid = {"path.cid": "$response.body#/id"}
    return {
        "compaction": _link("compactions_get", "The compaction as it is then", _SAME_SESSION, cid),
        "undo": _link("compactions_undo", "Undo it", _SAME_SESSION, cid),
    }


LINKS: Final[Mapping[str, Mapping[int, Json]]] = {
    "sessions_create": {201: _of_session(_OWN_ID)},
    "sessions_get": {200: _of_session(_SAME_SESSION)},
    "sessions_patch": {200: _of_session(_SAME_SESSION)},
    "events_append": {200: _of_append(), 201: _of_append()},
    "compact": {status: _of_compaction() for status in (201, 202)},
    "compactions_undo": {200: _of_compaction()},
    "uploads_create": {
        201: {
            "upload": _link(
                "uploads_get", "What has arrived, after the PUT", _SAME_SESSION, {"path.ref": "$response.body#/ref"}
            )
        }
    },
}
"""Pages have none: a page may be empty, and the ``Link`` header holds the next one with the query it is bound to."""
