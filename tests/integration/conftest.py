"""One stack on an engine that enforces IAM, for all tests that ask who may do what: a start takes 20 seconds."""

from collections.abc import Iterator

import pytest

from infra.local.engine import free_port
from infra.local.home import Home
from infra.local.issuer import Issuer
from tests.support.auth import EnforcedStack, enforced_stack
from tests.support.auth_tokens import Tokens
from tests.support.permissions import Wire


@pytest.fixture(scope="session")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EnforcedStack]:
    """The local stage as `make run` deploys it, where every request is held against its signer's policies."""
    with enforced_stack(tmp_path_factory.mktemp("enforced-stack")) as stack:
        yield stack


@pytest.fixture(scope="session")
def tokens(enforced: EnforcedStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    """Tokens of that stack's issuer, and of one that it has never heard of."""
    rogue = Issuer.create(Home(tmp_path_factory.mktemp("rogue-issuer")), free_port())
    with rogue.serving():
        yield Tokens(enforced.issuer, rogue)


@pytest.fixture(scope="session")
def wire(enforced: EnforcedStack) -> Iterator[Wire]:
    """A connection to that stack's gateway."""
    wire = Wire(enforced.url)
    yield wire
    wire.close()
