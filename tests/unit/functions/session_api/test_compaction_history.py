"""The history of a session's compactions over HTTP, and undoing the newest."""

import pytest

from session_api import cursors
from tests.support.compactions import NEWEST, PATH, history, problem, undo, window
from tests.support.session_api import Api


def compact(api: Api, sid: str = "s") -> None:
    """A session of four turns and three passes, each of which has archived one."""
    api.create(sid)
    api.append("one", "two", "three", "four", sid=sid)
    for turns in (3, 2, 1):
        assert api.compact(sid, {"strategy": {"type": "turn_window", "max_turns": turns}}).status == 201


@pytest.fixture
def compacted(api: Api) -> Api:
    """Alice, whose session "s" is one."""
    compact(api)
    return api


def test_the_history_tells_the_newest_pass_first(compacted: Api) -> None:
    """What it archived, by which rules, for whom, and what it was counted with."""
    page = history(compacted)
    newest = page["data"][0]

    assert ([3, 2, 1], None, False, None) == (
        [record["generation"] for record in page["data"]],
        page["next_cursor"],
        page["has_more"],
        page["attempt"],
    )
    assert {
        "status": "compacted",
        "asked_by": "request",
        "user_id": "alice",
        "undoes": None,
        "archived": [[3, 3]],
        "restored": [],
        "inserted": [],
        "model": None,
        "trigger": None,
        "strategy": NEWEST,
        "created_at": compacted.clock.now().text,
    }.items() <= newest.items()
    assert newest["tokens_before"] > newest["tokens_saved"] > 0
    assert "/" in newest["counter"]


def test_one_pass_is_found_by_its_id(compacted: Api) -> None:
    """As it stands in the list, with the ETag of the log."""
    for record in history(compacted)["data"]:
        reply = compacted.call("GET", f"{PATH}/{record['id']}")
        assert (200, record) == (reply.status, reply.json)
        assert reply.headers["etag"] == compacted.list().headers["etag"]


def test_the_history_comes_in_pages(compacted: Api) -> None:
    """Each once, with a Link beside the cursor."""
    seen, query = [], "limit=1"
    for has_more in (True, True, False):
        reply = compacted.call("GET", PATH, query=query)
        seen += [record["generation"] for record in reply.json["data"]]
        query = f"limit=1&cursor={reply.json['next_cursor']}"
        assert (has_more, has_more) == (reply.json["has_more"], reply.json["next_cursor"] is not None)
        assert reply.headers.get("link") == (f'<?{query}>; rel="next"' if has_more else None)

    assert [3, 2, 1] == seen


def test_a_cursor_belongs_to_its_user_and_its_session(compacted: Api) -> None:
    """Not to another's session, nor to another of one's own, though their passes have the same ids here; and it names
    a pass that is there."""
    cursor = history(compacted, "limit=1")["next_cursor"]
    compact(compacted, "t")
    bob = compacted.as_user("bob", "globex")
    compact(bob)
    forged = cursors.encode_passes("9", cursors.scope_of("compactions", "acme", "alice", "s"))
    for reply in (
        bob.call("GET", PATH, query=f"cursor={cursor}"),
        compacted.call("GET", "/v1/sessions/t/compactions", query=f"cursor={cursor}"),
        compacted.list(query=f"cursor={cursor}"),
        compacted.call("GET", PATH, query=f"cursor={forged}"),
    ):
        assert (422, ["query:cursor"]) == (reply.status, reply.pointers)


@pytest.mark.parametrize("cid", ["9", "1.5f0c2a9b7e11"])
def test_a_pass_that_is_not_there_is_404(compacted: Api, cid: str) -> None:
    """To get and to undo."""
    assert (404, "compaction-not-found") == problem(compacted.call("GET", f"{PATH}/{cid}"))
    assert (404, "compaction-not-found") == problem(undo(compacted, cid))


# --------------------------------------------------------------------------- undo


def test_an_undo_brings_the_window_back(compacted: Api) -> None:
    """With what was appended since; it is a pass of its own, and stands in the history."""
    newest = history(compacted)["data"][0]["id"]
    compacted.append("five")
    reply = undo(compacted, newest)

    assert (200, "undone", newest, [[3, 3]], [], 4) == (
        reply.status,
        *(reply.json[name] for name in ("status", "undoes", "restored", "archived", "generation")),
    )
    assert ["three", "four", "five"] == window(compacted)
    assert reply.headers["etag"] == compacted.list().headers["etag"]
    assert reply.json == history(compacted)["data"][0]
    assert ("held", "undone") == tuple(history(compacted)["attempt"][name] for name in ("status", "reason"))


def test_repeating_an_undo_answers_the_same(compacted: Api) -> None:
    """After a lost answer, say: one undo, not two."""
    newest = history(compacted)["data"][0]["id"]
    first, second = undo(compacted, newest), undo(compacted, newest)

    assert (first.status, first.json) == (second.status, second.json)
    assert 4 == len(history(compacted)["data"])


def test_an_undo_can_be_undone(compacted: Api) -> None:
    """Which does the first pass again."""
    undone = undo(compacted, history(compacted)["data"][0]["id"]).json
    again = undo(compacted, undone["id"])

    assert (200, [[3, 3]], []) == (again.status, again.json["archived"], again.json["restored"])
    assert ["four"] == window(compacted)


def test_only_the_newest_can_be_undone(compacted: Api) -> None:
    """409, and nothing has changed."""
    before = history(compacted)
    assert (409, "compaction-not-newest") == problem(undo(compacted, before["data"][1]["id"]))
    assert before == history(compacted)
