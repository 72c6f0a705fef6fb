"""Write the API reference from the OpenAPI document, or check that it is current: ``reference.py write|check``.

``docs/openapi.json`` is generated from the code that serves it; ``docs/api.md`` says the same for people. Only the
standard library is used, nothing is fetched, and the same document gives the same page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/openapi.json"
PAGE = ROOT / "docs/api.md"

Json = Mapping[str, Any]

BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "minItems": "{} or more of them",
    "maxItems": "at most {} of them",
    "minProperties": "{} keys or more",
    "maxProperties": "at most {} keys",
    "pattern": "matches `{}`",
    "default": "`{}` unless given",
}
SHAPES = frozenset(
    ("$ref", "type", "format", "enum", "const", "anyOf", "oneOf", "allOf", "items", "properties", "required")
)
SILENT = frozenset(("description", "discriminator", "examples", "additionalProperties", "title"))
"""Told elsewhere on the page, or by the blocks' own ``type``."""


class UnknownKeyword(Exception):
    """The document uses a JSON Schema keyword that this script does not know: teach it, or a reader misses a rule."""


def slug(heading: str) -> str:
    """The anchor that a renderer of Markdown derives from a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link(name: str) -> str:
    """A link to a schema's section."""
    return f"[{name}](#{slug(name)})"


def cell(text: str) -> str:
    """Text that can stand in a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, or nothing when it has no rows."""
    lines = ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines, ""] if lines else []


def compact(value: object) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


class Reference:
    """The page for one document."""

    def __init__(self, document: Json) -> None:
        self._document = document

    def text(self) -> str:
        """The whole page."""
        parts = [self._head(), self._overview(), *map(self._operation, self._operations()), self._headers()]
        schemas = self._document["components"]["schemas"]
        parts.append(["## Schemas", ""])
        parts += [self._schema(name, schemas[name]) for name in sorted(schemas)]
        return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"

    def _head(self) -> list[str]:
        info = self._document["info"]
        return [
            "# HTTP API",
            "",
            "<!-- Written by make openapi. Change the code that serves it, not this page. -->",
            "",
            f"Version {info['version']}, made from [openapi.json](openapi.json), which a deployment serves as well.",
            "The [guide](guide.md) tells how the parts are used, the [limits](limits.md) give each limit a reason.",
            "",
            info["description"].strip(),
            "",
        ]

    def _overview(self) -> list[str]:
        rows = [
            (f"[{operation['summary']}](#{slug(operation['summary'])})", f"`{method} {path}`", self._access(operation))
            for method, path, operation in self._operations()
        ]
        return ["## Operations", "", *table(("operation", "request", "who may call"), rows)]

    def _operations(self) -> Iterator[tuple[str, str, Json]]:
        for path, operations in self._document["paths"].items():
            for method, operation in operations.items():
                yield method.upper(), path, operation

    def _access(self, operation: Json) -> str:
        ways = [
            f"{name} with {', '.join(f'`{scope}`' for scope in scopes)}" if scopes else name
            for one in operation["security"]
            for name, scopes in one.items()
        ]
        return " or ".join(ways) or "anybody"

    def _operation(self, found: tuple[str, str, Json]) -> list[str]:
        method, path, operation = found
        lines = [f"## {operation['summary']}", "", f"`{method} {path}`", "", operation.get("description", ""), ""]
        lines += [f"Operation `{operation['operationId']}`; {self._access(operation)}.", ""]
        lines += table(("parameter", "in", "type", ""), map(self._parameter, operation.get("parameters", ())))
        lines += self._body(operation.get("requestBody"))
        lines += table(("status", "", "body", "headers"), map(self._answer, operation["responses"].items()))
        return lines + self._next(operation)

    def _next(self, operation: Json) -> list[str]:
        """What the answer's links lead to, each operation once."""
        summaries = {one["operationId"]: one["summary"] for _, _, one in self._operations()}
        linked = [way for answer in operation["responses"].values() for way in answer.get("links", {}).values()]
        ways = {way["operationId"]: f"[{(name := summaries[way['operationId']])}](#{slug(name)})" for way in linked}
        return [f"Goes on with: {', '.join(ways.values())}.", ""] if ways else []

    def _parameter(self, given: Json) -> tuple[str, str, str, str]:
        parameter = self._resolved(given)
        must = " (required)" if parameter.get("required") and parameter["in"] != "path" else ""
        return f"`{parameter['name']}`{must}", parameter["in"], *self._told(parameter)

    def _body(self, body: Json | None) -> list[str]:
        lines: list[str] = []
        for content_type, content in (body or {}).get("content", {}).items():
            lines += [f"Body, `{content_type}`: {self._type(content['schema'])}.", ""]
            for name, example in content.get("examples", {}).items():
                value = json.dumps(example["value"], ensure_ascii=False, indent=2)
                lines += [f"Example, {name.replace('_', ' ')}:", "", "```json", value, "```", ""]
        return lines

    def _answer(self, found: tuple[str, Json]) -> tuple[str, str, str, str]:
        status, given = found
        answer = self._resolved(given)
        bodies = [
            self._type(content["schema"]) + ("" if kind == "application/json" else f" (`{kind}`)")
            for kind, content in answer.get("content", {}).items()
        ]
        headers = [f"[{name}](#{slug(name)})" for name in answer.get("headers", {})]
        return status, answer["description"], " or ".join(bodies), ", ".join(headers)

    def _headers(self) -> list[str]:
        lines = ["## Headers of answers", ""]
        for name, header in self._document["components"]["headers"].items():
            shape, what = self._told(header)
            lines += [f"### {name}", "", what, "", f"Type: {shape}.", ""]
        return lines

    def _schema(self, name: str, schema: Json) -> list[str]:
        lines = [f"### {name}", "", schema.get("description", "").replace("``", "`"), ""]
        if "properties" not in schema:
            return [*lines, f"{self._type(schema)}{self._bounds(schema)}.", ""]
        required = schema.get("required", ())
        rows = [
            (f"`{key}`" + ("" if key in required else " (optional)"), *self._told({**value, "schema": value}))
            for key, value in schema["properties"].items()
        ]
        lines += table(("key", "type", ""), rows)
        lines += [f"Exactly one of {', '.join(self._alternatives(schema))}.", ""] if "oneOf" in schema else []
        if schema.get("additionalProperties") is not False:
            lines += ["Keys that are not listed are kept.", ""]
        return lines

    def _alternatives(self, schema: Json) -> list[str]:
        return [f"`{key}`" for one in schema["oneOf"] for key in one["required"]]

    def _told(self, given: Json) -> tuple[str, str]:
        """Type and description of a parameter, a header or a property."""
        schema = given["schema"]
        shown = () if "pattern" in schema else schema.get("examples", ())  # beside the pattern otherwise
        examples = ", ".join(f"`{compact(one)}`" for one in shown)
        words = given.get("description", "").replace("``", "`")
        return self._type(schema) + self._bounds(schema), f"{words} Example: {examples}" if examples else words

    def _type(self, schema: Json) -> str:
        if "$ref" in schema:
            return link(schema["$ref"].rpartition("/")[2])
        if "const" in schema or "enum" in schema:
            return ", ".join(f"`{one}`" for one in schema.get("enum", [compact(schema.get("const"))]))
        for joint in ("anyOf", "oneOf"):
            if joint in schema and "properties" not in schema:
                return " or ".join(self._type(one) + self._bounds(one) for one in schema[joint])
        if schema.get("type") == "array":
            return f"array of {self._type(schema['items'])}{self._bounds(schema['items'])}"
        if isinstance(schema.get("additionalProperties"), dict):
            return f"object of {self._type(schema['additionalProperties'])} values"
        return str(schema.get("format", schema.get("type", "any JSON")))

    def _bounds(self, schema: Json) -> str:
        """The rules for a value, beside its type."""
        unknown = schema.keys() - BOUNDS.keys() - SHAPES - SILENT
        if unknown:
            raise UnknownKeyword(f"{', '.join(sorted(unknown))} in {compact(schema)}")
        said = [words.format(_plain(schema[key])) for key, words in BOUNDS.items() if _tells(schema, key)]
        examples = [f"such as `{compact(one)}`" for one in schema.get("examples", ()) if "pattern" in schema]
        return f" ({', '.join((*said, *examples))})" if said or examples else ""

    def _resolved(self, given: Json) -> Json:
        """What a reference stands for; anything else as it is."""
        if "$ref" not in given:
            return given
        found: Any = self._document
        for step in given["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        resolved: Json = found
        return resolved


def _tells(schema: Json, key: str) -> bool:
    """Whether a rule is there and worth words: an optional key that is null unless given is just optional."""
    return key in schema and not (key == "default" and schema[key] is None)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else f"{value:,}" if type(value) is int else compact(value)


def main(words: list[str]) -> int:
    """Do what the one word says; answers the exit status."""
    text = Reference(json.loads(DOCUMENT.read_text(encoding="utf-8"))).text()
    if words == ["write"]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if words == ["check"]:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print("the API reference is current" if current else "docs/api.md is stale; run make openapi")
        return 0 if current else 1
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
