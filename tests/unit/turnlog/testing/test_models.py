"""A model in the hands of a test."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.asking import REQUEST
from turnlog.domain.models import ModelClient, ModelReply, ModelThrottled, Usage
from turnlog.testing.models import PlayedModel


def test_it_answers_what_it_is_given_in_order() -> None:
    cut = ModelReply("She", "length", Usage(1, 2), "m")
    model = PlayedModel("ok", ModelThrottled("busy", retry_after_seconds=1.0), cut)
    port: ModelClient = model
    assert ModelReply("ok", "stop", Usage(), "played") == port.complete(REQUEST)
    with pytest.raises(ModelThrottled, match="busy"):
        port.complete(REQUEST)
    assert cut == port.complete(REQUEST)
    assert [REQUEST] * 3 == model.requests


def test_a_question_too_many_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="more often"):
        PlayedModel().complete(REQUEST)


def test_a_held_question_waits_until_it_is_released() -> None:
    model = PlayedModel("ok", "ok")
    model.hold()
    with ThreadPoolExecutor(2) as threads:
        answers = [threads.submit(model.complete, REQUEST) for _ in range(2)]
        assert model.asked.wait(30)
        assert not any(answer.done() for answer in answers)
        model.release()
        assert ["ok", "ok"] == [answer.result(30).text for answer in answers]


def test_a_question_that_nobody_releases_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlog.testing.models.WAIT_SECONDS", 0.01)
    model = PlayedModel("ok")
    model.hold()
    with pytest.raises(AssertionError, match="nobody released"):
        model.complete(REQUEST)
