"""The store with small limits, so that a handful of events reaches every seam."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from turnlog.stores.dynamodb import append


@contextmanager
def small_limits() -> Iterator[pytest.MonkeyPatch]:
    """Ids are folded after 2 and before 4 of them; bodies of 300 bytes lie among the blobs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(append, "FOLD_AFTER", 2)
        patch.setattr(append, "FOLD_BEFORE", 4)
        patch.setattr(append, "BLOB_ABOVE", 300)
        yield patch
