"""The API over a fresh memory store."""

import pytest

from tests.support.session_api import Api


@pytest.fixture
def api() -> Api:
    """Alice of acme."""
    return Api()


@pytest.fixture
def session(api: Api) -> Api:
    """Alice of acme, who has a session "s"."""
    assert api.create().status == 201
    return api
