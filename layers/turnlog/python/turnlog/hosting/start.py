"""The start of a function: everything that it imports and makes before its first request."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from .bytecode import Watch, asset_roots


@contextmanager
def initialising() -> Iterator[Watch]:
    """Put around the imports of a handler's module and around what it makes once; outside Lambda it does nothing.

    Within, nothing is collected as garbage: almost all that a start makes stays, so every look for what does not is in
    vain, and it takes a tenth of the start. Afterwards what is there counts as permanent, and the collections during
    requests pass over it.

    The watch that it gives says afterwards which modules had to be compiled.
    """
    watch = Watch(asset_roots())
    if "AWS_LAMBDA_FUNCTION_NAME" not in os.environ:
        yield watch
        return
    collecting = gc.isenabled()
    gc.disable()
    try:
        with watch:
            yield watch
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
