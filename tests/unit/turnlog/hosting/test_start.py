"""The start of a function: no garbage collection within, and nothing of it left behind."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.hosting.start import initialising


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def _in_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")


@pytest.mark.usefixtures("_in_lambda")
def test_nothing_is_collected_during_the_start_and_what_is_there_stays_afterwards() -> None:
    """Collections of the requests pass over what the start made."""
    with initialising():
        assert not gc.isenabled()

    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000


@pytest.mark.usefixtures("_in_lambda")
def test_it_watches_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the folders of the assets."""
    (tmp_path / "hosted_start.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("turnlog.hosting.start.asset_roots", lambda: (str(tmp_path),))
    with initialising() as watch:
        importlib.import_module("hosted_start")

    assert ("hosted_start",) == watch.compiled


@pytest.mark.usefixtures("_in_lambda")
def test_an_error_of_the_start_comes_through_and_collecting_goes_on() -> None:
    """Lambda shows it and starts again in the same process."""
    with pytest.raises(KeyError), initialising():
        raise KeyError

    assert gc.isenabled()


@pytest.mark.usefixtures("_in_lambda")
def test_who_had_turned_collecting_off_finds_it_off() -> None:
    """It was not ours to turn on."""
    gc.disable()
    with initialising():
        pass

    assert not gc.isenabled()


def test_outside_lambda_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test or a tool that imports a handler keeps its own memory in order."""
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    before = gc.get_freeze_count()
    with initialising() as watch:
        assert gc.isenabled()

    assert (before, ()) == (gc.get_freeze_count(), watch.compiled)
