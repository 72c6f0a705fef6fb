"""The ledger's assertions show their values, like those of a test module."""

import pytest

pytest.register_assert_rewrite("tests.support.scripted")
