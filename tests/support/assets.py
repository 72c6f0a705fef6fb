"""Small assets for synthesis, so that infra tests neither download nor compile."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

from infra.bundle import Asset, digest
from infra.settings import LambdaTarget


@dataclass(frozen=True)
class SmallAssets:
    """Zip files with one file each, in ``folder``; ``compiled`` is what they claim of themselves."""

    folder: Path
    compiled: bool = True

    def library_layer(self, target: LambdaTarget) -> Asset:
        """A layer with a module called turnlog."""
        return self._made("turnlog-layer", target, "python/turnlog.py")

    def dependencies_layer(self, target: LambdaTarget) -> Asset:
        """A layer with a module called boto3."""
        return self._made("dependencies-layer", target, "python/boto3.py")

    def function(self, name: str, target: LambdaTarget) -> Asset:
        """A function's package with an empty handler."""
        return self._made(name, target, f"{name}/handler.py")

    def _made(self, name: str, target: LambdaTarget, entry: str) -> Asset:
        path = self.folder / f"{name}-{target.name}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(entry, "")
        return Asset(path=path, digest=digest(name, target.name), compiled=self.compiled)
