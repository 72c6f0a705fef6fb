"""One stack on an engine that enforces IAM, for all tests that ask who may do what: a start takes 20 seconds."""

from collections.abc import Iterator

import pytest

from tests.support.auth import EnforcedStack, enforced_stack


@pytest.fixture(scope="session")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EnforcedStack]:
    """The local stage as `make run` deploys it, where every request is held against its signer's policies."""
    with enforced_stack(tmp_path_factory.mktemp("enforced-stack")) as stack:
        yield stack
