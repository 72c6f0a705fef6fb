"""One request as the routes see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.exactjson import JsonValue
from turnlog.domain.instant import Instant
from turnlog.domain.ports import IdempotencyKey
from turnlog.domain.uploads import REF_RULE, UploadRef
from turnlog.service import SessionService

from . import body, headers
from .dependencies import Dependencies
from .fields import EVENT_ID_RULE, ID_RULE, PASS_ID_PATTERN, PASS_ID_RULE, is_event_id, is_id
from .identity import Guard, Identity, identity_of
from .query import Query, percent_decode

if TYPE_CHECKING:
    from turnlog.compactor import Compactor

Model = TypeVar("Model", bound=BaseModel)


class Call:
    """One request on one route.

    Everything is read when a route asks for it, so that errors come in a fixed order: the token,
    the path, the headers and the query, the body.
    """

    def __init__(
        self,
        event: Mapping[str, Any],
        operation: str,
        params: Mapping[str, str],
        dependencies: Callable[[], Dependencies],
        guard: Guard = "jwt",
    ) -> None:
        self._event = event
        self._guard = guard
        self._operation = operation
        self._params = params
        self._dependencies = dependencies
        self.headers: Mapping[str, str] = event.get("headers") or {}

    @property
    def method(self) -> str:
        """The HTTP method."""
        method: str = self._event["requestContext"]["http"]["method"]
        return method

    @cached_property
    def identity(self) -> Identity:
        """Who is calling; raises ``Forbidden``."""
        return identity_of(self._event, self._dependencies().settings, self._guard)

    @property
    def known_identity(self) -> Identity | None:
        """The caller, if the route has come so far as to look."""
        return self.__dict__.get("identity")

    @property
    def user(self) -> str:
        """The calling user."""
        return self.identity.user

    @cached_property
    def service(self) -> SessionService:
        """The service over the caller's tenant."""
        return self._dependencies().service_for(self.identity.tenant)

    @cached_property
    def compactor(self) -> Compactor:
        """Compaction of the caller's tenant."""
        return self._dependencies().compactor_for(self.identity.tenant)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that may write summaries here."""
        return self._dependencies().settings.models

    def now(self) -> Instant:
        """The present instant."""
        return self._dependencies().clock.now()

    @cached_property
    def session_id(self) -> str:
        """The ``sid`` of the path, decoded once; raises ``InvalidRequest`` outside the grammar."""
        text = percent_decode(self._params["sid"], "path:sid")
        if not is_id(text):
            raise InvalidRequest.at("path:sid", ID_RULE)
        return text

    @cached_property
    def event_id(self) -> str:
        """The ``eid`` of the path; it may also be one that the server made."""
        text = percent_decode(self._params["eid"], "path:eid")
        if not is_event_id(text):
            raise InvalidRequest.at("path:eid", EVENT_ID_RULE)
        return text

    @cached_property
    def upload_ref(self) -> UploadRef:
        """The ``ref`` of the path; raises ``InvalidRequest`` outside the grammar."""
        ref = UploadRef.parse(percent_decode(self._params["ref"], "path:ref"))
        if ref is None:
            raise InvalidRequest.at("path:ref", REF_RULE)
        return ref

    @cached_property
    def pass_id(self) -> str:
        """The ``cid`` of the path."""
        text = percent_decode(self._params["cid"], "path:cid")
        if not re.fullmatch(PASS_ID_PATTERN, text, re.ASCII):
            raise InvalidRequest.at("path:cid", PASS_ID_RULE)
        return text

    def query(self, known: Iterable[str] = ()) -> Query:
        """The query string, which may hold these parameters and no other."""
        return Query(self._event.get("rawQueryString") or "", known)

    @property
    def if_match(self) -> tuple[str, ...] | None:
        """The tags of ``If-Match``."""
        return headers.if_match(self.headers)

    @property
    def if_none_match_any(self) -> bool:
        """Whether ``If-None-Match: *`` was given."""
        return headers.if_none_match_any(self.headers)

    @cached_property
    def json(self) -> JsonValue:
        """The body, parsed exactly."""
        headers.check_is_json(self.headers)
        return body.read_json(self._event)

    def body(self, model: type[Model]) -> Model:
        """The body as the model."""
        return body.validate(model, self.json)

    def idempotency_key(self) -> IdempotencyKey | None:
        """The ``Idempotency-Key`` of this user for this method, path and body."""
        ids = (percent_decode(part, f"path:{name}") for name, part in self._params.items())
        return headers.idempotency_key(self.headers, user=self.user, operation=(self._operation, *ids), body=self.json)
