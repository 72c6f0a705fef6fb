"""The OpenAPI document: committed as generated, valid, and the same routes as everywhere else."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel

from infra.routes import ROUTES as GATEWAY_ROUTES
from session_api import openapi, openapi_texts
from session_api.fields import PASS_ID_PATTERN, is_event_id, is_id
from session_api.headers import if_match
from session_api.openapi_links import LINKS
from session_api.routes.meta import DOCUMENT as SERVED
from session_api.routes.table import ROUTES
from session_api.schemas import AppendBody, CompactBody, CreateSessionBody, PatchSessionBody
from tests.support.session_api import DOCUMENT, REPOSITORY, Api
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.event import has_text
from turnlog.domain.message import Message

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
    gateways = {"401", "403", "413", "429", "500", "503"} & statuses
    assert gateways == {
        s for s in statuses if s >= "400" and "application/json" in operation["responses"][s]["content"]
    }
    assert ("412" in statuses) == bool({"If-Match", "If-None-Match"} & names)
    assert all(f"{{{name}}}" not in template or name in names for name in ("sid", "eid", "ref", "cid"))


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
    "compact": CompactBody,
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
        "AssistantMessage",
        "FoundPassAnswer",  # either of two closed ones
        "GatewayAnswer",
        "Message",
        "MediaBlock",
        "PlainMessage",
        "ProviderBlock",
        "TextBlock",
        "ThinkingBlock",
        "ToolCallBlock",
        "ToolMessage",
        "ToolResultBlock",
    } == open_ones


@pytest.mark.parametrize("operation_id", sorted(LINKS))
def test_a_link_leads_from_a_documented_answer_to_a_parameter_there_is(operation_id: str) -> None:
    """And takes a value that stands in the answer or the request."""
    [source] = [operation for _, _, operation in OPERATIONS if operation["operationId"] == operation_id]
    assert LINKS[operation_id]
    for status, links in LINKS[operation_id].items():
        answer = source["responses"][str(status)]
        assert links == answer["links"]
        for link in links.values():
            [target] = [operation for _, _, operation in OPERATIONS if operation["operationId"] == link["operationId"]]
            assert set(link["parameters"]) <= _located(target), link
            for expression in link["parameters"].values():
                where, _, name = expression.removeprefix("$").partition("#/")
                if where == "response.body":
                    schema = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                    assert name.partition("/")[0] in DOCUMENT["components"]["schemas"][schema]["required"]
                elif where.startswith("response.header."):
                    assert where.removeprefix("response.header.") in answer["headers"]
                else:
                    assert where.removeprefix("request.") in _located(source)


def _located(operation: dict[str, Any]) -> set[str]:
    found = [
        DOCUMENT["components"]["parameters"][p["$ref"].rpartition("/")[2]] for p in operation.get("parameters", ())
    ]
    return {f"{parameter['in']}.{parameter['name']}" for parameter in found}


def test_the_pattern_of_words_is_what_has_text_looks_for() -> None:
    """Character by character: whatever a regular expression or Python calls white space."""
    pattern = re.compile(openapi_texts.NOT_BLANK_PATTERN)

    assert [] == [c for c in map(chr, range(0x10000)) if has_text(c) != bool(pattern.search(c))]


def _is_if_match(text: str) -> bool:
    """Whether the API takes the header's value."""
    try:
        if_match({"if-match": text})
    except InvalidRequest:
        return False
    return True


@pytest.mark.parametrize("words", ["a", "a,b", "a,", ",a", "a, ,b", "\u00a0", "\x0b", ",", "a b", "\n,a", "a\n"])
def test_the_document_takes_the_words_that_the_api_takes(session: Api, words: str) -> None:
    """A comma separates however it is escaped, and no entry is blank."""
    pattern = re.compile(openapi_texts.WORD_PATTERN)
    reply = session.list(query=f"keywords={quote(words, safe='')}")

    assert (200 if all(pattern.search(word) for word in words.split(",")) else 422) == reply.status
    assert "," not in words or not pattern.search(words)


def _is_pass_id(text: str) -> bool:
    """Whether the API looks for a compaction of that id."""
    return re.fullmatch(PASS_ID_PATTERN, text, re.ASCII) is not None


PATTERNS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "cid": (openapi_texts.PARAMETERS["cid"]["schema"]["pattern"], _is_pass_id),
    "eid": (openapi_texts.PARAMETERS["eid"]["schema"]["pattern"], is_event_id),
    "sid": (openapi_texts.PARAMETERS["sid"]["schema"]["pattern"], is_id),
    "if_match": (openapi_texts.PARAMETERS["if_match"]["schema"]["pattern"], _is_if_match),
}
SAMPLES = (
    *(
        "a",
        ".",
        "..",
        "...",
        "a/b",
        "~",
        "~0",
        "~0-0",
        "~0-1",
        "~00-1",
        "~z-12",
        "~1-p2-0",
        "~1-p-0",
        "~1-p2-00",
        "~a.b",
        *("1", "10.0f", "01", "0", "1.", "1.F", "1.0f.0f"),
    ),
    *("*", "**", '"a"', "a", 'W/"a"', 'w/"a"', '"a","b"', '"a" , W/"b"', '"a" "b"', '"a",', '"\u00e9"', '"a b"', ""),
)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_a_documented_pattern_is_the_rule_that_is_kept(name: str) -> None:
    """Or a client would be refused what the document lets it send."""
    pattern, rule = PATTERNS[name]

    assert {s: rule(s) for s in SAMPLES} == {s: re.search(pattern, s) is not None for s in SAMPLES}
    assert {True, False} == {rule(s) for s in SAMPLES}


@pytest.mark.parametrize("role", ["user", "system", "assistant", "tool"])
@pytest.mark.parametrize("kind", [None, "text", "media", "tool_call", "tool_result", "thinking", "provider"])
def test_the_document_knows_which_blocks_a_role_may_have(role: str, kind: str | None) -> None:
    """As the domain does: what one takes, the other takes."""
    blocks: dict[str, dict[str, Any]] = {
        "text": {"text": "t"},
        "media": {"media_type": "image/png", "url": "https://example.com/a.png", "data": None},
        "tool_call": {"id": "c", "name": "n", "arguments": "{}"},
        "tool_result": {"call_id": "c", "content": [{"type": "text", "text": "t"}]},
        "thinking": {"text": None},
        "provider": {"provider": "p", "data": None},
    }
    message = {"role": role, "content": "text" if kind is None else [{"type": kind, **blocks[kind]}]}
    schema = {"$ref": "#/components/schemas/Message", "components": DOCUMENT["components"]}
    try:
        Message.of(message)
        taken = True
    except InvalidRequest:
        taken = False

    assert taken == Draft202012Validator(schema).is_valid(message)


def test_a_header_is_required_where_no_answer_comes_without_it() -> None:
    """The gateway's own answers have none of ours."""
    for template, method, operation in OPERATIONS:
        for status, answer in operation["responses"].items():
            own = "application/json" not in answer.get("content", {}) or status < "300"
            for name, header in answer.get("headers", {}).items():
                certain = own and name != "Link" and not (name == "ETag" and status == "412")
                required = openapi_texts.HEADERS[name].get("required", False) if "$ref" in header else False
                assert certain == required, f"{method} {template} {status} {name}"


def test_the_command_prints_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """And refuses words that it does not know."""
    openapi.main([])

    assert DOCUMENT == json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit, match="usage"):
        openapi.main(["--wirte"])
