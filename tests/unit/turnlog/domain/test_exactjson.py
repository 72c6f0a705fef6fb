"""JSON comes back as it went in, or is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain import exactjson
from turnlog.domain.errors import MalformedJson
from turnlog.domain.exactjson import EMPTY, MAX_DEPTH, JsonNumber, JsonObject, canonical, dumps, escape_pointer, loads

text = st.text(st.characters(exclude_categories=["Cs"]))
digits = st.from_regex(r"(0|[1-9][0-9]{0,24})", fullmatch=True)
number_texts = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    digits,
    st.from_regex(r"(\.[0-9]{1,20})?", fullmatch=True),
    st.from_regex(r"([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


def _object_text(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{v}" for k, v in members) + "}"


compact_texts: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(["null", "true", "false"]) | number_texts | text.map(lambda s: json.dumps(s, ensure_ascii=False)),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{','.join(parts)}]")
        | st.lists(st.tuples(text, inner), max_size=4, unique_by=lambda pair: pair[0]).map(_object_text)
    ),
    max_leaves=15,
)


@given(compact_texts)
def test_any_compact_json_text_is_written_back_byte_for_byte(raw: str) -> None:
    assert dumps(loads(raw)) == raw
    assert dumps(loads(raw.encode())) == raw


@given(compact_texts)
def test_an_object_keeps_its_text_and_equals_itself_in_any_key_order(raw: str) -> None:
    value = JsonObject.parse(f'{{"b":{raw},"a":1}}')
    assert value.raw == f'{{"b":{raw},"a":1}}'
    other = JsonObject.parse(f'{{"a":1,"b":{raw}}}')
    assert value == other
    assert hash(value) == hash(other)
    assert value.canonical == canonical(other.to_python())


@pytest.mark.parametrize(
    "raw", ["0", "-0", "-0.0", "1.0", "0.10", "1e400", "1E5", "1e5", "1e-7", "123456789012345678901"]
)
def test_a_number_keeps_its_text(raw: str) -> None:
    assert dumps(loads(raw)) == raw
    assert dumps([loads(raw)]) == f"[{raw}]"


def test_numbers_are_equal_by_their_text() -> None:
    assert JsonObject.parse('{"n":1}') != JsonObject.parse('{"n":1.0}')
    assert JsonObject.parse('{"n":1e5}') != JsonObject.parse('{"n":1E5}')
    assert JsonObject.parse('{"n":-0}') != JsonObject.parse('{"n":0}')
    assert JsonObject.parse('{"n":1.0}') == JsonObject.parse('{ "n" : 1.0 }')
    assert JsonNumber("1E5") == JsonNumber("1E5")
    assert JsonNumber("1E5") != 1e5
    assert len({JsonNumber("1E5"), JsonNumber("1E5"), JsonNumber("1e6")}) == 2
    assert float(JsonNumber("1E5")) == 100_000


@pytest.mark.parametrize("raw", ["1", "1.5", "-17", "1e-07"])
def test_an_ordinary_number_is_an_ordinary_number(raw: str) -> None:
    assert loads(raw) == json.loads(raw)
    assert not isinstance(loads(raw), JsonNumber)


@pytest.mark.parametrize(
    "raw",
    [
        "NaN",
        "[Infinity]",
        '{"a":-Infinity}',
        '{"a":1,"a":1}',
        '{"x":[{"a":1,"b":2,"a":3}]}',
        "",
        " ",
        "{",
        "{}x",
        "{'a':1}",
        "[1,]",
        "01",
        "1.",
        ".5",
        "+1",
        '"\t"',
        '"\\x"',
        "nul",
        "\ufeff{}",
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        "[" * 100_000,
        "1" * 1001,
        "-" + "1" * 1001,
        "0." + "1" * 1001,
        "1" * 5000,
    ],
)
def test_what_is_not_exact_json_is_refused(raw: str) -> None:
    with pytest.raises(MalformedJson):
        loads(raw)


@pytest.mark.parametrize("raw", ["1" * 1000, "-0." + "1" * 999, "[" * MAX_DEPTH + "]" * MAX_DEPTH])
def test_what_just_fits_is_taken(raw: str) -> None:
    assert dumps(loads(raw)) == raw


def test_bytes_that_are_not_utf_8_are_refused_with_their_place() -> None:
    with pytest.raises(MalformedJson, match="byte 2"):
        loads(b'{"\xff":1}')


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ('"\\ud83d"', ""),
        ('{"a":"x\\ud83d b"}', "/a"),
        ('{"a":[1,{"b/c":"\\udc00"}]}', "/a/1/b~1c"),
        ('{"\\ud800":1}', "/?"),
        ('{"a":"\ud83d"}', "/a"),
    ],
)
def test_a_lone_surrogate_is_refused_with_a_pointer(raw: str, pointer: str) -> None:
    with pytest.raises(MalformedJson, match="lone surrogate") as refused:
        loads(raw)
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_a_surrogate_pair_and_nul_are_text() -> None:
    assert loads('"\\ud83d\\ude00"') == "😀"
    assert loads('"a\\u0000b"') == "a\0b"
    assert dumps("a\0b😀") == '"a\\u0000b😀"'


@pytest.mark.parametrize("raw", ["1", "[]", '"{}"', "null"])
def test_only_an_object_is_an_object(raw: str) -> None:
    with pytest.raises(MalformedJson, match="object"):
        JsonObject.parse(raw)


class Opaque:
    """Not a JSON value."""


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": float("inf"), "n": JsonNumber("1E5")},
        {"a": Opaque()},
        {"a": [{1, 2}]},
        {"a": Opaque(), "n": JsonNumber("1E5")},
        {"a": "\ud800"},
        {"\ud800": 1},
        {"a": 10**1000},
        {"a": 10**5000},
    ],
)
def test_a_mapping_that_is_not_exact_json_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(MalformedJson):
        JsonObject.of(value)


def test_a_mapping_that_is_too_deep_is_refused_like_its_text() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(MalformedJson, match="deeper"):
        JsonObject.of({"a": deep})
    with pytest.raises(MalformedJson, match="deeper"):
        JsonObject.parse(f'{{"a":{json.dumps(deep)}}}')
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(MalformedJson):
        JsonObject.of({"a": endless})


@given(st.integers(1, 999), st.integers(1, 30))
def test_many_digits_in_a_string_are_no_number(run: int, times: int) -> None:
    raw = ("1" * run + "x") * times + "9" * 2000
    assert JsonObject.of({"a": raw})["a"] == raw


def test_an_object_is_a_read_only_mapping_of_what_it_says() -> None:
    value = JsonObject.parse('{"b":1,"a":[1.0]}')
    assert list(value) == ["b", "a"]
    assert len(value) == 2
    assert value["b"] == 1
    assert value.get("c") is None
    assert value == {"b": 1, "a": [1.0]}
    assert (value == 1) is False
    assert repr(value) == """JsonObject('{"b":1,"a":[1.0]}')"""
    with pytest.raises(TypeError):
        value["b"] = 2  # type: ignore[index]


def test_a_copy_is_the_callers_own() -> None:
    value = JsonObject.parse('{"a":[1]}')
    value.to_python()["a"].append(2)
    assert value.to_python() == {"a": [1]}
    assert value.raw == '{"a":[1]}'


def test_an_existing_object_is_taken_as_it_is() -> None:
    value = JsonObject.parse('{"a":1.0}')
    assert JsonObject.of(value) is value
    assert JsonObject.of({}) == EMPTY


@pytest.mark.parametrize(
    ("write", "expected"),
    [(dumps, '{"b":[1E5,{"d":1,"c":null}],"a":"x"}'), (canonical, '{"a":"x","b":[1E5,{"c":null,"d":1}]}')],
)
def test_odd_numbers_are_written_among_everything_else(write: Callable[[Any], str], expected: str) -> None:
    assert write(loads('{"b":[1E5,{"d":1,"c":null}],"a":"x"}')) == expected


def test_a_pointer_part_is_escaped() -> None:
    assert escape_pointer("a/b~c") == "a~1b~0c"


def test_a_non_json_value_is_a_type_error_of_the_writer() -> None:
    with pytest.raises(TypeError, match="Opaque"):
        exactjson.dumps(Opaque())
