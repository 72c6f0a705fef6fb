"""The request headers on their own, where a store would hide the difference."""

import pytest

from session_api.headers import idempotency_key, if_match
from turnlog.domain.ports import IdempotencyKey


def key_of(user: str = "alice", operation: tuple[str, ...] = ("POST /x", "s"), body: object = None) -> IdempotencyKey:
    """The key of one request."""
    key = idempotency_key({"idempotency-key": "k"}, user=user, operation=operation, body=body)
    assert key is not None
    return key


def test_a_key_is_hashed_with_its_user() -> None:
    """So that no store can ever mix up two users' equal keys."""
    assert key_of().key != key_of(user="bob").key
    assert key_of().request == key_of(user="bob").request


def test_a_request_is_its_operation_its_ids_and_the_value_of_its_body() -> None:
    """No two of these are the same request, and the parts cannot run into one another."""
    requests = [
        key_of(),
        key_of(operation=("POST /y", "s")),
        key_of(operation=("POST /x", "t")),
        key_of(operation=("POST /xs", "")),
        key_of(body={"a": 1}),
        key_of(body={"a": 1.0}),
        key_of(body={"a": "1"}),
    ]

    assert len(requests) == len({key.request for key in requests})
    assert {key_of().key} == {key.key for key in requests}
    assert key_of(body={"a": 1, "b": [2]}) == key_of(body={"b": [2], "a": 1})


def test_a_key_does_not_depend_on_its_length() -> None:
    """16 bytes each, as the store keeps them."""
    assert (16, 16) == (len(key_of().key), len(key_of().request))


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("*", ("*",)),
        (' "1.2.3" ', ('"1.2.3"',)),
        ('"1.2.3","4.5.6" , W/"7"', ('"1.2.3"', '"4.5.6"', 'W/"7"')),
        ('"a,b"', ('"a,b"',)),
        ('""', ('""',)),
    ],
)
def test_if_match_is_a_list_of_tags(value: str, tags: tuple[str, ...]) -> None:
    """A comma inside the quotes belongs to the tag, and a weak one stays weak."""
    assert tags == if_match({"if-match": value})
    assert if_match({}) is None
