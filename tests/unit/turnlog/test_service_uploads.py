"""SessionService and uploads: who may ask, and which refs an append takes."""

import hashlib

import pytest

from turnlog.domain.errors import InvalidRequest, PreconditionFailed, SessionNotFound, UploadNotFound
from turnlog.domain.event import EventDraft
from turnlog.domain.message import Message
from turnlog.domain.uploads import UploadGrant, UploadRef, UploadRequest
from turnlog.service import CreateSession, SessionService
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.stores.memory_uploads import InMemoryUploadStore, MemoryBucket
from turnlog.testing.clock import ManualClock

CONTENT = b"content"
REQUEST = UploadRequest("image/png", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def clock() -> ManualClock:
    """Standing at the start of 2026."""
    return ManualClock()


@pytest.fixture
def bucket(clock: ManualClock) -> MemoryBucket:
    """An empty bucket."""
    return MemoryBucket(clock.now)


@pytest.fixture
def service(clock: ManualClock, bucket: MemoryBucket) -> SessionService:
    """With a session "s" of Alice's that lives for an hour."""
    uploads = InMemoryUploadStore("acme", bucket=bucket)
    service = SessionService(InMemorySessionRepository(), clock=clock, uploads=uploads)
    service.create(CreateSession("alice", "s", ttl_seconds=3600))
    return service


def uploaded(service: SessionService, bucket: MemoryBucket) -> UploadGrant:
    """The content, put."""
    grant = service.create_upload("alice", "s", REQUEST)
    assert bucket.serve("PUT", grant.url, grant.headers, CONTENT).status == 200
    return grant


def shown(ref: UploadRef, id: str | None = None) -> EventDraft:
    """A message that names an upload."""
    block = {"type": "media", "media_type": "image/png", "ref": str(ref)}
    return EventDraft(Message.of({"role": "user", "content": [block]}), id=id)


def test_the_owner_asks_puts_and_finds(service: SessionService, bucket: MemoryBucket) -> None:
    grant = uploaded(service, bucket)
    found = service.upload("alice", "s", grant.ref)

    assert (grant.ref, "image/png", len(CONTENT)) == (found.ref, found.media_type, found.size)


def test_nobody_else_does_and_an_expired_session_is_gone(
    service: SessionService, bucket: MemoryBucket, clock: ManualClock
) -> None:
    """Not even with the ref."""
    ref = uploaded(service, bucket).ref
    for user, session in (("bob", "s"), ("alice", "other")):
        with pytest.raises(SessionNotFound):
            service.create_upload(user, session, REQUEST)
        with pytest.raises(SessionNotFound):
            service.upload(user, session, ref)
    clock.advance(seconds=3600)
    with pytest.raises(SessionNotFound):
        service.upload("alice", "s", ref)
    with pytest.raises(SessionNotFound):
        service.create_upload("alice", "s", REQUEST)


def test_what_has_not_arrived_is_not_found(service: SessionService) -> None:
    """Whatever was asked for."""
    ref = service.create_upload("alice", "s", REQUEST).ref
    with pytest.raises(UploadNotFound) as missing:
        service.upload("alice", "s", ref)

    assert ("s", str(ref)) == (missing.value.session_id, missing.value.ref)


def test_a_new_life_refuses_the_refs_of_the_old_one(
    service: SessionService, bucket: MemoryBucket, clock: ManualClock
) -> None:
    """With find-or-create as well, which then creates nothing; the new life's own ref is taken."""
    ref = uploaded(service, bucket).ref
    clock.advance(seconds=3600)
    with pytest.raises(InvalidRequest):
        service.append("alice", "s", (shown(ref),), create_if_missing=True)
    with pytest.raises(SessionNotFound):
        service.get("alice", "s")
    service.create(CreateSession("alice", "s"))
    with pytest.raises(InvalidRequest):
        service.append("alice", "s", (shown(ref),), create_if_missing=True)

    fresh = service.create_upload("alice", "s", REQUEST).ref
    assert 1 == service.append("alice", "s", (shown(fresh),)).events[0].seq


def test_only_new_events_of_a_batch_are_looked_at(service: SessionService, bucket: MemoryBucket) -> None:
    """What is in the log is there: its replay is answered, beside a new event or alone."""
    good = uploaded(service, bucket).ref
    stranger = UploadRef("1", REQUEST.sha256)
    service.append("alice", "s", (shown(good, "a"),))
    with pytest.raises(InvalidRequest) as refused:
        service.append("alice", "s", (shown(good, "a"), shown(stranger, "b")))

    assert ["/events/1/message/content/0/ref"] == [error.pointer for error in refused.value.errors]
    assert [True, False] == [
        e.replayed for e in service.append("alice", "s", (shown(good, "a"), shown(good, "b"))).events
    ]


def test_strangers_learn_nothing_from_a_ref(service: SessionService) -> None:
    """The owner is compared first, then ``If-Match``, then refs."""
    stranger = UploadRef("1", REQUEST.sha256)
    with pytest.raises(SessionNotFound):
        service.append("bob", "s", (shown(stranger),))
    with pytest.raises(PreconditionFailed):
        service.append("alice", "s", (shown(stranger),), if_match=('"1.1.1"',))


def test_a_link_is_a_copy_of_the_message(service: SessionService, bucket: MemoryBucket) -> None:
    """Byte for byte as it stands in the log."""
    service.append("alice", "s", (EventDraft(Message.parse('{"role":"user","content":"x","n":1e400}'), id="e"),))
    session, event = service.event("alice", "s", "e")
    link = service.event_link(session, event)

    assert b'{"role":"user","content":"x","n":1e400}' == bucket.serve("GET", link.url).content


def test_a_service_without_an_upload_store_says_so(clock: ManualClock) -> None:
    """A mistake of whoever wired it, and no answer to a caller."""
    service = SessionService(InMemorySessionRepository(), clock=clock)
    service.create(CreateSession("alice", "s"))
    with pytest.raises(RuntimeError, match="upload store"):
        service.create_upload("alice", "s", REQUEST)
