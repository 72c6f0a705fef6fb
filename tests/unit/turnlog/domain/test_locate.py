"""A refused text is refused where it is wrong."""

import pytest

from turnlog.domain import exactjson
from turnlog.domain.errors import MalformedJson

LONG = "1" * 1001


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('{"events":[{"message":{"t":NaN}}]}', "/events/0/message/t"),
        ('{"a":["x, [1]",{"b":1},-Infinity]}', "/a/2"),
        ("NaN", None),
        ('[0,{"a~/b":Infinity}]', "/1/a~0~1b"),
        ('{"a":"NaN","b":[[],{},NaN]}', "/b/2"),
        (f'{{"n":{LONG[:-1]},"m":[{LONG}]}}', "/m/0"),
        (f'{{"s":"{LONG}","m":-{LONG}.5e1}}', "/m"),
        ('{"a":{"b":1,"c":{"b":2},"b":3}}', "/a/b"),
        ('{"a":1,"\\u0061":2}', "/a"),
        ('[{"k":"a"},{"k":"a","v":"k","k":1}]', "/1/k"),
        ("[" * 64 + '{"x":1}' + "]" * 64, "/0" * 64),
        ('{"a":' * 70 + "1" + "}" * 70, "/a" * 64),
        ('{"x":"\\"[[{","y":NaN}', "/y"),
    ],
)
def test_the_pointer_names_the_first_offender(text: str, pointer: str | None) -> None:
    with pytest.raises(MalformedJson) as refused:
        exactjson.loads(text)

    assert [e.pointer for e in refused.value.errors] == ([] if pointer is None else [pointer])
    assert refused.value.detail


def test_of_two_repeated_keys_text_and_pointer_name_the_same() -> None:
    with pytest.raises(MalformedJson, match=r"^/a/b: the key 'b' stands twice"):
        exactjson.loads('{"a":1,"a":{"b":1,"b":2}}')


def test_text_nested_beyond_any_parser_is_refused_where_it_goes_too_deep() -> None:
    with pytest.raises(MalformedJson) as refused:
        exactjson.loads('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")

    assert [e.pointer for e in refused.value.errors] == ["/a" + "/0" * 63]
