"""Retries of all calls of a client share a budget, so that an outage is not multiplied."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from tests.support.fake_api import TOKEN, URL, FakeApi, answer_lost, answered, unreachable
from turnlog.client import ApiError, ClientError, ConnectionFailed, TimedOut, user
from turnlog.client._retry import Pacer, RetryBudget, RetryPolicy


def _pacer(budget: RetryBudget, attempts: int = 5) -> Pacer:
    return Pacer(RetryPolicy(max_attempts=attempts), budget, clock=lambda: 0.0, uniform=lambda low, high: high)


def test_a_retry_costs_and_a_success_gives_it_back() -> None:
    """What the last retry cost."""
    budget = RetryBudget(100)
    pacer = _pacer(budget)
    assert 0.2 == pacer.pause()
    assert 0.4 == pacer.pause(timed_out=True)
    assert 85 == budget.left
    pacer.succeeded()
    assert 95 == budget.left


def test_a_success_at_once_gives_a_little_and_never_more_than_there_was() -> None:
    budget = RetryBudget(10)
    budget.take(5)
    _pacer(budget).succeeded()
    assert 6 == budget.left
    for _ in range(20):
        _pacer(budget).succeeded()
    assert 10 == budget.left


def test_without_budget_there_is_no_next_attempt() -> None:
    budget = RetryBudget(12)
    assert [True, True, False] == [_pacer(budget).pause() is not None for _ in range(3)]


def test_the_last_attempt_costs_nothing() -> None:
    """It is not followed by another one."""
    budget = RetryBudget(100)
    assert _pacer(budget, attempts=1).pause() is None
    assert 100 == budget.left


def test_threads_spend_it_once() -> None:
    """A race would let an outage through."""
    budget = RetryBudget(500)
    taken: list[bool] = []
    threads = [threading.Thread(target=lambda: taken.extend([budget.take(5) for _ in range(50)])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (100, 0) == (sum(taken), budget.left)


def test_in_an_outage_calls_are_soon_made_once(make_client: Any, api: FakeApi) -> None:
    """100 retries are paid for; after that each call is a single request."""
    pauses: list[float] = []
    client = make_client(URL, token=TOKEN, transport=httpx.MockTransport(api), sleep=pauses.append)
    api.fail(*[unreachable] * 1000)
    with client:
        for _ in range(60):
            with pytest.raises(ConnectionFailed):
                client.session("s1").get()
    assert 100 == len(pauses)
    assert 160 == len(api.requests)


def test_time_outs_cost_twice(make_client: Any, api: FakeApi) -> None:
    """They hold connections for longest."""
    pauses: list[float] = []
    client = make_client(URL, token=TOKEN, transport=httpx.MockTransport(api), sleep=pauses.append)
    api.fail(*[answer_lost] * 1000)
    with client:
        for _ in range(60):
            with pytest.raises(TimedOut):
                client.session("s1").append(user("x"))
    assert 50 == len(pauses)


def test_a_session_object_can_have_its_own_number_of_attempts(client: Any, api: FakeApi, pauses: list[float]) -> None:
    """For a caller who would rather hear of it at once."""
    api.fail(*[answered(503)] * 10)
    with pytest.raises(ApiError):
        client.session("s1", max_attempts=1).get()
    assert [] == pauses
    with pytest.raises(ApiError):
        client.session("s1", max_attempts=2).get()
    assert 1 == len(pauses)


@pytest.mark.parametrize("attempts", [0, -1])
def test_at_least_one_attempt_is_made(client: Any, attempts: int) -> None:
    with pytest.raises(ValueError, match="max_attempts"):
        client.session("s1", max_attempts=attempts)


def test_retry_after_is_waited_for_at_least(client: Any, api: FakeApi, pauses: list[float]) -> None:
    """In seconds or as a date, beside the pause of our own; beyond the total it is not waited for."""
    client.session("s1").create()
    api.fail(answered(503, Retry_After="7"))
    client.session("s1").get()
    assert 7 <= pauses[-1] <= 7.2

    api.fail(answered(429, Retry_After="3600"))
    with pytest.raises(ClientError):
        client.session("s1").get()
    assert 1 == len(pauses)
