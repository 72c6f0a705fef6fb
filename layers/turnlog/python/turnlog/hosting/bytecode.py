"""Which modules of a function's assets were compiled at its start, although their bytecode should be beside them.

Compiling makes a cold start two to three times as long, and nothing else tells of it: bytecode that is missing, or is
made by another Python, is passed over in silence.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final, Self

_HEADER_BYTES: Final = 16
"""Magic number, flags, and hash or date with size (PEP 552)."""
_BY_HASH, _CHECKED = 0b01, 0b10


def asset_roots() -> tuple[str, ...]:
    """Where the code of a function and of its layers lies: in Lambda ``/var/task`` and ``/opt/python``.

    An engine on a laptop unpacks layers elsewhere, so the folder that this package was found in is always one of them.
    """
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH120, PTH100  (pathlib is a millisecond of the start)
    return (os.environ.get("LAMBDA_TASK_ROOT", "/var/task"), "/opt/python", here)


class Watch:
    """Notes each module below ``roots`` that Python compiles while the watch is entered, or had compiled before.

    It costs nothing for a module that comes from bytecode. Nested watches each note what they see.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = tuple(f"{root.rstrip(os.sep)}{os.sep}" for root in roots)
        self._found: dict[str, None] = {}

    @property
    def compiled(self) -> tuple[str, ...]:
        """The modules' names, in the order in which they were noticed."""
        return tuple(self._found)

    def __enter__(self) -> Self:
        for name, module in list(sys.modules.items()):
            if self._is_ours(_source_of(module)) and not has_usable_bytecode(module):
                self._found[name] = None
        self._original = SourceFileLoader.__dict__.get("source_to_code")
        before = SourceFileLoader.source_to_code
        watch = self

        def source_to_code(loader: SourceFileLoader, data: Any, path: Any, *args: Any, **options: Any) -> CodeType:
            if watch._is_ours(loader.path):
                watch._found[loader.name] = None
            return before(loader, data, path, *args, **options)

        # The one step that is taken only when there is something to compile.
        SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign,assignment]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._original is None:
            del SourceFileLoader.source_to_code
        else:
            SourceFileLoader.source_to_code = self._original  # type: ignore[method-assign]

    def _is_ours(self, path: str | None) -> bool:
        return path is not None and path.startswith(self._roots)


def _source_of(module: ModuleType) -> str | None:
    """The source file that a loaded module was made from; None for one in C or in memory."""
    spec = getattr(module, "__spec__", None)
    return spec.origin if spec is not None and isinstance(spec.loader, SourceFileLoader) else None


def has_usable_bytecode(module: ModuleType) -> bool:
    """Whether a loaded module's bytecode file is one that this Python takes without compiling (PEP 552).

    Says how the file is now: where a folder can be written, Python has put it there itself after compiling.
    """
    spec = module.__spec__
    if spec is None or spec.cached is None or spec.origin is None:
        return False
    try:
        with open(spec.cached, "rb") as file:  # noqa: PTH123  (as above)
            header = file.read(_HEADER_BYTES)
        return len(header) == _HEADER_BYTES and _is_valid(header, spec.origin)
    except OSError:
        return False


def _is_valid(header: bytes, source: str) -> bool:
    if header[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags = int.from_bytes(header[4:8], "little")
    if not flags & _BY_HASH:
        now = os.stat(source)  # noqa: PTH116  (as above)
        dated = (int(now.st_mtime) & 0xFFFFFFFF, now.st_size & 0xFFFFFFFF)
        return dated == (int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:16], "little"))
    if not flags & _CHECKED:
        return True
    with open(source, "rb") as file:  # noqa: PTH123  (as above)
        return importlib.util.source_hash(file.read()) == header[8:16]
