"""The store with small limits, so that a handful of events reaches every seam."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from turnlog.stores.dynamodb import append

FOLD_AFTER: Final = 2
FOLD_BEFORE: Final = 4
BLOB_ABOVE: Final = 300


@contextmanager
def small_limits() -> Iterator[pytest.MonkeyPatch]:
    """Lower the limits, and give the patch that did it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(append, "FOLD_AFTER", FOLD_AFTER)
        patch.setattr(append, "FOLD_BEFORE", FOLD_BEFORE)
        patch.setattr(append, "BLOB_ABOVE", BLOB_ABOVE)
        yield patch
