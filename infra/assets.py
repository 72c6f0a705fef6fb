"""The three kinds of asset: our library's layer, the dependencies' layer, a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from infra import bundle, bytecode, dependencies
from infra.bundle import Asset
from infra.settings import LambdaTarget

PROJECT = Path(__file__).resolve().parent.parent

NOT_IN_LAMBDA = ("turnlog/client", "turnlog/integrations", "turnlog/testing")
"""Parts of the library that only its users run."""


class Assets(Protocol):
    """Where the stacks get their zip files from; tests hand in small ones."""

    def library_layer(self, target: LambdaTarget) -> Asset:
        """The layer with the ``turnlog`` package."""
        ...

    def dependencies_layer(self, target: LambdaTarget) -> Asset:
        """The layer with the packages of the lock file."""
        ...

    def function(self, name: str, target: LambdaTarget) -> Asset:
        """The code of one function: its folder under ``functions/``, and nothing else."""
        ...


@dataclass(frozen=True)
class BuiltAssets:
    """Builds the assets from a checkout and keeps them under ``.turnlog/cache/assets``.

    Every method raises ``BundleError`` when its asset cannot be built.
    """

    project: Path = PROJECT

    def library_layer(self, target: LambdaTarget) -> Asset:
        """The layer with the ``turnlog`` package, without ``NOT_IN_LAMBDA``."""
        root = self.project / "layers" / "turnlog" / "python"
        files = list(bundle.source_files(root, without=NOT_IN_LAMBDA))

        def fill(folder: Path) -> None:
            bundle.copy_files(root, files, folder / "python")

        return self._build("turnlog-layer", target, bundle.digest_files(root, files), fill, runs_at="/opt")

    def dependencies_layer(self, target: LambdaTarget) -> Asset:
        """The layer with the packages of ``requirements-lambda.lock``, for the target."""
        lock = self.project / "requirements-lambda.lock"
        dependencies.check_lock(lock)

        def fill(folder: Path) -> None:
            dependencies.install(lock, target, folder / "python")
            dependencies.trim(folder / "python")

        return self._build("dependencies-layer", target, bundle.digest(lock.read_bytes()), fill, runs_at="/opt")

    def function(self, name: str, target: LambdaTarget) -> Asset:
        """The code of one function. Its folder stays a folder in the zip: the handler has the
        same dotted name in Lambda and in the tests."""
        root = self.project / "functions"
        files = list(bundle.source_files(root / name))

        def fill(folder: Path) -> None:
            bundle.copy_files(root, files, folder)

        return self._build(name, target, bundle.digest_files(root, files), fill, runs_at="/var/task")

    def _build(
        self, name: str, target: LambdaTarget, sources: str, fill: Callable[[Path], None], *, runs_at: str
    ) -> Asset:
        interpreter = bytecode.find_interpreter(target.python)
        bytecode_kind = interpreter.magic if interpreter else "none"
        key = bundle.digest(_recipe(), name, target.name, bytecode_kind, sources)

        def fill_and_compile(folder: Path) -> None:
            fill(folder)
            if interpreter:
                bytecode.compile_tree(interpreter, folder, runs_at=runs_at)

        cache = self.project / ".turnlog" / "cache" / "assets"
        path = bundle.cached_zip(cache, f"{name}-{target.name}", key, fill_and_compile)
        return Asset(path=path, digest=key, compiled=interpreter is not None)


def _recipe() -> str:
    """How assets are built: a change of the builders is a change of what they build."""
    here = Path(__file__).resolve().parent
    return bundle.digest_files(here, [here / f"{name}.py" for name in ("assets", "bundle", "bytecode", "dependencies")])
