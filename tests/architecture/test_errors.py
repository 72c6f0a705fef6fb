"""The error tree: documented, drawn, and told apart by code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from turnlog.domain import errors


def tree(base: type[errors.TurnlogError] = errors.TurnlogError) -> Iterator[type[errors.TurnlogError]]:
    """The base and every class below it that the module defines."""
    yield base
    for child in base.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


ERRORS = sorted(set(tree()), key=lambda error: error.__name__)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_says_in_a_docstring_when_it_is_raised(error: type[errors.TurnlogError]) -> None:
    """The docstring is its own, not the base's."""
    assert inspect.cleandoc(error.__doc__ or "").strip()
    assert all(error.__doc__ != base.__doc__ for base in error.__mro__[1:])


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_is_drawn_in_the_tree_at_the_top(error: type[errors.TurnlogError]) -> None:
    """A reader finds all of them in one place."""
    assert error.__name__ in (errors.__doc__ or "").split()


def test_no_two_errors_share_a_code() -> None:
    """A program tells them apart by ``code`` alone."""
    assert len(ERRORS) == len({error.code for error in ERRORS})
