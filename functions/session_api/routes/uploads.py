"""Uploads: ask for leave to put one, and see what has arrived. The content never passes through here."""

from __future__ import annotations

from .. import wire
from ..answer import Answer
from ..call import Call
from ..schemas import CreateUploadBody


def create(call: Call) -> Answer:
    """``POST /v1/sessions/{sid}/uploads``: 201, and the same ref for the same content again."""
    user, session_id = call.user, call.session_id
    call.query()
    body = call.body(CreateUploadBody)
    return Answer(201, wire.grant_json(call.service.create_upload(user, session_id, body.request())))


def get(call: Call) -> Answer:
    """``GET /v1/sessions/{sid}/uploads/{ref}``: 404 until the content has arrived."""
    user, session_id, ref = call.user, call.session_id, call.upload_ref
    call.query()
    return Answer(200, wire.upload_json(call.service.upload(user, session_id, ref)))
