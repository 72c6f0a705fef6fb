"""The two surfaces are one: same names, same arguments, same words."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.support.fake_api import TOKEN, URL, FakeApi
from turnlog import client as package
from turnlog.client import AsyncClient, AsyncPager, AsyncSession, Client, Pager, Session, assistant, user
from turnlog.client._async.compactions import AsyncCompactions
from turnlog.client._sync.compactions import Compactions

PAIRS = [
    (AsyncClient, Client),
    (AsyncSession, Session),
    (AsyncCompactions, Compactions),
    (AsyncPager, Pager),
]
RENAMED = {"aclose": "close", "__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}


def _methods(kind: type) -> dict[str, Any]:
    """The public members, and those that a language construct calls, under their synchronous names."""
    special = {*RENAMED, *RENAMED.values(), "__init__"}
    shown = {name: member for name, member in vars(kind).items() if not name.startswith("_") or name in special}
    return {RENAMED.get(name, name): member for name, member in shown.items()}


@pytest.mark.parametrize(("asynchronous", "synchronous"), PAIRS, ids=lambda kind: kind.__name__)
def test_methods_and_arguments_are_the_same(asynchronous: type, synchronous: type) -> None:
    ours, theirs = _methods(asynchronous), _methods(synchronous)
    assert ours.keys() == theirs.keys()
    for name, member in ours.items():
        if inspect.isfunction(member):
            assert list(inspect.signature(member).parameters) == list(inspect.signature(theirs[name]).parameters), name
            assert (member.__doc__ or "").replace("Async", "").replace("aclose", "close").replace(
                "between tasks", "between threads"
            ) == (theirs[name].__doc__ or ""), name


def test_an_agents_turn_under_asyncio() -> None:
    """As a user writes it, with ``async with`` and ``async for``; the token may be awaited for."""
    api = FakeApi()

    async def token() -> str:
        await asyncio.sleep(0)
        return TOKEN

    async def turn() -> list[str | None]:
        async with AsyncClient(URL, token_provider=token, transport=httpx.MockTransport(api)) as client:
            session = client.session("s1")
            await session.append(user("What is a turn?"), assistant("A question."), create_if_missing=True)
            texts = [event.message.text async for event in session.events()]
            texts += [row.id async for row in client.sessions()]
            async for page in session.events(page_size=1).pages():
                texts.append(str(len(page)))
            return texts

    assert ["What is a turn?", "A question.", "s1", "1", "1"] == asyncio.run(turn())


def test_many_appends_at_once_share_one_client() -> None:
    """Tasks do not get in each other's way."""
    api = FakeApi()

    async def all_of_them() -> None:
        async with AsyncClient(URL, token=TOKEN, transport=httpx.MockTransport(api)) as client:
            await client.session("s1").create()
            await asyncio.gather(*(client.session("s1").append(user(str(n))) for n in range(50)))

    asyncio.run(all_of_them())
    assert {str(n) for n in range(50)} == {event.message.text for event in api.log("s1")}


def test_a_cancelled_append_says_how_to_go_on_and_going_on_doubles_nothing() -> None:
    """The answer never came; with the key of the note the same append finds what the first one did."""
    api = FakeApi()
    stuck = asyncio.Event()

    async def hangs(request: httpx.Request) -> httpx.Response:
        answer = api(request)
        if request.url.path.endswith("/events") and not stuck.is_set():
            stuck.set()
            await asyncio.sleep(60)
        return answer

    async def cancelled() -> str:
        async with AsyncClient(URL, token=TOKEN, transport=httpx.MockTransport(hangs)) as client:
            session = client.session("s1")
            await session.create()
            task = asyncio.create_task(session.append(user("once")))
            await stuck.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            note = caught.value.__notes__[0]
            key = note.split("idempotency_key='")[1].split("'")[0]
            again = await session.append(user("once"), idempotency_key=key)
            assert again.all_replayed
            return note

    assert "doubles nothing" in asyncio.run(cancelled())
    assert ["once"] == [event.message.text for event in api.log("s1")]


def test_the_client_brings_nothing_of_aws_or_the_functions_along() -> None:
    """httpx and the library: whoever uses it has no reason to install more."""
    unwanted = ("boto3", "botocore", "pydantic", "aws_lambda_powertools", "opensearchpy", "moto")
    code = f"import sys, turnlog.client; print([name for name in {unwanted!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


def test_without_httpx_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['httpx'] = None\nimport turnlog.client"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "turnlog[client]"' in done.stderr


def test_every_public_name_is_documented() -> None:
    for name in package.__all__:
        assert inspect.getdoc(getattr(package, name)) or name == "UNSET", name
