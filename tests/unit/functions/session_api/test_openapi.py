"""The OpenAPI document: committed as generated, valid, and the same routes as everywhere else."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel

from infra.routes import ROUTES as GATEWAY_ROUTES
from session_api import openapi, openapi_texts
from session_api.routes.meta import DOCUMENT as SERVED
from session_api.routes.table import ROUTES
from session_api.schemas import AppendBody, CreateSessionBody, PatchSessionBody
from tests.support.session_api import DOCUMENT, REPOSITORY, Api

OPERATIONS = [
    (template, method, operation)
    for template, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
IDS = [operation["operationId"] for _, _, operation in OPERATIONS]


def test_the_committed_documents_are_the_generated_ones() -> None:
    """The one for people and the one that is served; run ``make openapi`` after a change."""
    assert openapi.pretty() == (REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert openapi.compact() == SERVED.read_text(encoding="utf-8")


def test_the_document_is_valid() -> None:
    """By the specification's own schema."""
    assert [] == list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors())


def test_document_table_and_gateway_have_the_same_routes() -> None:
    """With the same scopes."""
    table = {(route.method, route.path, route.scope) for route in ROUTES}
    documented = {
        (method.upper(), template, operation["security"][0]["token"][0] if operation["security"] else None)
        for template, method, operation in OPERATIONS
    }

    assert table == documented
    assert table == {(route.method, f"/v1{route.path}", route.scope) for route in GATEWAY_ROUTES}


def test_operation_ids_are_unique_and_all_described() -> None:
    """No text is left over either."""
    assert len(IDS) == len(set(IDS))
    assert set(IDS) == set(openapi_texts.OPERATIONS)


@pytest.mark.parametrize(("template", "method", "operation"), OPERATIONS, ids=IDS)
def test_every_operation_documents_what_it_can_answer(template: str, method: str, operation: dict[str, Any]) -> None:
    """The gateway's statuses, those of a body, and 404 where the path names something."""
    statuses = set(operation["responses"])

    assert {"400", "422", "429", "500"} <= statuses
    assert ({"401", "403", "503"} <= statuses) == bool(operation["security"])
    assert ({"413", "415"} <= statuses) == ("requestBody" in operation)
    assert ("404" in statuses) == ("{sid}" in template)
    names = {
        DOCUMENT["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]]["name"]
        for p in operation.get("parameters", ())
    }
    assert ("412" in statuses) == bool({"If-Match", "If-None-Match"} & names)
    assert all(f"{{{name}}}" not in template or name in names for name in ("sid", "eid"))


@pytest.mark.parametrize("name", sorted(openapi_texts.PARAMETERS))
def test_every_parameter_is_used_and_every_query_parameter_is_understood(session: Api, name: str) -> None:
    """A documented query parameter is never answered with "is unknown"."""
    users = [(t, o) for t, m, o in OPERATIONS if {"$ref": f"#/components/parameters/{name}"} in o.get("parameters", ())]
    parameter = openapi_texts.PARAMETERS[name]

    assert users
    if parameter["in"] == "query":
        for template, _ in users:
            reply = session.call("GET", template.format(sid="s", eid="e"), query=f"{parameter['name']}=%20")
            assert (422, True) == (reply.status, "is unknown" not in reply.json["detail"])


MODELS: dict[str, type[BaseModel]] = {
    "sessions_create": CreateSessionBody,
    "sessions_patch": PatchSessionBody,
    "events_append": AppendBody,
}


@pytest.mark.parametrize("operation_id", sorted(MODELS))
def test_the_examples_are_valid_by_schema_and_by_model(operation_id: str) -> None:
    """So that whoever copies one gets a 2xx."""
    model = MODELS[operation_id]
    schema = {"$ref": f"#/components/schemas/{model.__name__}", "components": DOCUMENT["components"]}

    assert openapi_texts.EXAMPLES[operation_id]
    for example in openapi_texts.EXAMPLES[operation_id].values():
        Draft202012Validator(schema).validate(example["value"])
        model.model_validate(example["value"])


def test_every_object_of_a_request_says_that_unknown_keys_are_refused() -> None:
    """Messages and their blocks alone are open."""
    schemas = DOCUMENT["components"]["schemas"]
    open_ones = {name for name, schema in schemas.items() if schema.get("additionalProperties") is not False}

    assert {
        "GatewayAnswer",
        "Message",
        "MediaBlock",
        "ProviderBlock",
        "TextBlock",
        "ThinkingBlock",
        "ToolCallBlock",
        "ToolResultBlock",
    } == open_ones


def test_the_command_prints_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """And refuses words that it does not know."""
    openapi.main([])

    assert DOCUMENT == json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit, match="usage"):
        openapi.main(["--wirte"])
