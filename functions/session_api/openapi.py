"""The OpenAPI 3.1 document, made from the route table, the pydantic models and the error table.

``python -m session_api.openapi`` prints it, ``--write`` puts it into ``docs/openapi.json`` (for
people) and, without white space, beside this file (what the function serves). Nothing here is
imported at run time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from turnlog import __version__
from turnlog.domain.errors import EventIdReused, SessionExists

from . import answers, compaction_answers, schemas
from .identity import TENANT_HEADER, USER_HEADER
from .openapi_links import LINKS
from .openapi_texts import DESCRIPTION, EXAMPLES, HEADERS, OPERATIONS, PARAMETERS, STATUSES, Operation
from .problems import CONTENT_TYPE, KINDS
from .routes.meta import DOCUMENT
from .routes.table import READ, ROUTES, WRITE, Route

Json = dict[str, Any]
REPOSITORY: Final = Path(__file__).parents[2]
FOR_PEOPLE: Final = REPOSITORY / "docs" / "openapi.json"
_GATEWAY_STATUSES: Final = (401, 403, 413, 429, 500, 503)
_SPECIAL: Final[dict[int, type[BaseModel]]] = {
    409: answers.ConflictProblem,
    412: answers.PreconditionProblem,
    413: answers.TooLargeProblem,
}
_MODELS: Final[tuple[type[BaseModel], ...]] = (
    schemas.CreateSessionBody,
    schemas.PatchSessionBody,
    schemas.AppendBody,
    schemas.CreateUploadBody,
    schemas.CompactBody,
    answers.Message,
    answers.SessionAnswer,
    answers.SessionPageAnswer,
    answers.EventAnswer,
    answers.EventPageAnswer,
    answers.AppendAnswer,
    answers.UploadGrantAnswer,
    answers.UploadAnswer,
    compaction_answers.CompactionAnswer,
    compaction_answers.PassAnswer,
    compaction_answers.FoundPassAnswer,
    compaction_answers.PassPageAnswer,
    answers.HealthAnswer,
    answers.Problem,
    answers.ConflictProblem,
    answers.PreconditionProblem,
    answers.TooLargeProblem,
    answers.GatewayAnswer,
)


def document() -> Json:
    """The whole document."""
    paths: Json = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, OPERATIONS[route.operation_id])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Turnlog",
            "version": __version__,
            "summary": "An event-sourced session store for AI agents",
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            {"url": "/", "description": "The base URL of the deployment; a token says who is calling"},
            {
                "url": "/iam",
                "description": "For AWS workloads, where a deployment has it: requests are signed (SigV4, execute-api) "
                f"and name tenant and user in the headers {TENANT_HEADER} and {USER_HEADER}, percent-encoded",
            },
        ],
        "tags": [{"name": name} for name in ("sessions", "events", "compactions", "uploads", "meta")],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": f"A token of the configured issuer; its scopes are {READ} and {WRITE}.",
                },
                "signature": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "x-amazon-apigateway-authtype": "awsSigv4",
                    "description": "Under /iam alone: AWS Signature Version 4 (service execute-api) of an assumed role "
                    "that the deployment names.",
                },
            },
        },
    }


def _schemas() -> Json:
    _, definitions = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    return {name: _tidy(schema) for name, schema in sorted(definitions["$defs"].items())}


def _tidy(schema: Any) -> Any:
    """Without the titles that pydantic derives from names, and with references in place of the
    components that fields of our own types name (``fields.py``)."""
    if isinstance(schema, list):
        return [_tidy(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "x-component" in schema:
        return {"$ref": f"#/components/schemas/{schema['x-component']}"}
    return {k: _tidy(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}


def _operation(route: Route, texts: Operation) -> Json:
    out: Json = {
        "operationId": route.operation_id,
        "tags": [texts.tag],
        "summary": texts.summary,
        "description": texts.description,
        "security": [] if route.scope is None else [{"token": [route.scope]}, {"signature": []}],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in texts.parameters],
        "responses": _responses(route, texts),
    }
    if texts.body is not None:
        out["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(texts.body), "examples": EXAMPLES[route.operation_id]}},
        }
    return {key: value for key, value in out.items() if value or key == "security"}


def _responses(route: Route, texts: Operation) -> Json:
    links = LINKS.get(route.operation_id, {})
    out = {str(status): _success(texts, status, links.get(status)) for status in texts.successes}
    for status in sorted(statuses_of(route, texts)):
        out[str(status)] = _failure(status, texts)
    return out


def statuses_of(route: Route, texts: Operation) -> set[int]:
    """Every status of a problem that the route can answer with."""
    found = {422, 400}  # a strict query, on every route
    found |= {429, 500, 503}  # the gateway's own, on every route
    if route.scope is not None:
        found |= {401, 403}
    if texts.body is not None:
        found |= {413, 415}
    return found | {KINDS[error].status.value for error in texts.errors}


def _success(texts: Operation, status: int, links: Json | None) -> Json:
    # Only what has come into being has a place.
    named = [name for name in texts.headers if name != "Location" or status in (201, 202)]
    headers = {name: _header(name) for name in ("X-Request-Id", *named)}
    out: Json = {"description": texts.successes[status], "headers": headers}
    if texts.answer is not None:
        schema: Json = {"type": "object"} if texts.answer is dict else _ref(texts.answer)
        out["content"] = {"application/json": {"schema": schema}}
    if links is not None:
        out["links"] = links
    return out


def _header(name: str, *, certain: bool = True) -> Json:
    """A header of an answer. What the gateway answers has none of ours, and some come only if there is a value."""
    if certain:
        return {"$ref": f"#/components/headers/{name}"}
    return {key: value for key, value in HEADERS[name].items() if key != "required"}


def _failure(status: int, texts: Operation) -> Json:
    headers = ["X-Request-Id"]
    if status == 503:
        headers.append("Retry-After")
    if status == 412:
        headers.append("ETag")
    certain = status not in _GATEWAY_STATUSES
    content: Json = {CONTENT_TYPE: {"schema": _ref(_problem(status, texts))}}
    if status in (401, 429):
        content = {}
        headers = []
    if status in _GATEWAY_STATUSES:
        content["application/json"] = {"schema": _ref(answers.GatewayAnswer)}
    out: Json = {"description": STATUSES[status], "content": content}
    if headers:
        out["headers"] = {name: _header(name, certain=certain and name != "ETag") for name in headers}
    return out


def _problem(status: int, texts: Operation) -> type[Any]:
    """The shape of the problem: a conflict names an id where an id is taken, and nothing else."""
    if status == 409 and not set(texts.errors) & {SessionExists, EventIdReused}:
        return answers.Problem
    return _SPECIAL.get(status, answers.Problem)


def _ref(model: type[Any]) -> Json:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def pretty() -> str:
    """The text of ``docs/openapi.json``."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def compact() -> str:
    """The text that the function serves."""
    return json.dumps(document(), separators=(",", ":"), ensure_ascii=False)


def main(arguments: list[str]) -> None:
    """Print the document, or write both copies with ``--write``."""
    if arguments == ["--write"]:
        FOR_PEOPLE.write_text(pretty(), encoding="utf-8")
        DOCUMENT.write_text(compact(), encoding="utf-8")
    elif arguments:
        raise SystemExit("usage: python -m session_api.openapi [--write]")
    else:
        sys.stdout.write(pretty())


if __name__ == "__main__":
    main(sys.argv[1:])
