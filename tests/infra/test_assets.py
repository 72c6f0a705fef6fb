"""What goes into an asset, on a small project of its own."""

import zipfile
from pathlib import Path

import pytest

from infra.assets import BuiltAssets
from infra.bundle import Asset, BundleError
from infra.settings import CLOUD_TARGET, LambdaTarget, host_target

HOST = host_target()
UNKNOWN_PYTHON = LambdaTarget(python="3.99", arm64=False, platform=None)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "layers/turnlog/python/turnlog/__init__.py",
        "layers/turnlog/python/turnlog/py.typed",
        "layers/turnlog/python/turnlog/domain/event.py",
        "layers/turnlog/python/turnlog/client/http.py",
        "layers/turnlog/python/turnlog/testing/contract.py",
        "layers/turnlog/python/turnlog/integrations/one.py",
        "layers/turnlog/python/turnlog/domain/__pycache__/event.cpython-311.pyc",
        "functions/session_api/handler.py",
        "functions/session_api/openapi.json",
        "functions/session_api/routes/events.py",
        "functions/other_function/handler.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def _sources(asset: Asset) -> set[str]:
    with zipfile.ZipFile(asset.path) as archive:
        return {name for name in archive.namelist() if not name.endswith(".pyc")}


def test_the_library_layer_holds_the_library_without_what_only_its_users_run(project: Path) -> None:
    assert {
        "python/turnlog/__init__.py",
        "python/turnlog/py.typed",
        "python/turnlog/domain/event.py",
    } == _sources(BuiltAssets(project).library_layer(HOST))


def test_a_functions_asset_holds_its_own_folder_and_nothing_else(project: Path) -> None:
    """STYLE 3.5: with exclude patterns of the wrong kind it is empty, without an error."""
    assert {
        "session_api/handler.py",
        "session_api/openapi.json",
        "session_api/routes/events.py",
    } == _sources(BuiltAssets(project).function("session_api", HOST))


def test_a_function_that_does_not_exist_is_refused(project: Path) -> None:
    with pytest.raises(BundleError, match=r"sesion_api-.*: nothing"):
        BuiltAssets(project).function("sesion_api", HOST)


def test_every_module_has_bytecode_when_the_targets_python_is_here(project: Path) -> None:
    for asset in (BuiltAssets(project).library_layer(HOST), BuiltAssets(project).function("session_api", HOST)):
        with zipfile.ZipFile(asset.path) as archive:
            modules = [name for name in archive.namelist() if name.endswith(".py")]
            compiled = [name for name in archive.namelist() if name.endswith(".pyc")]
        assert asset.compiled
        assert len(modules) == len(compiled) > 0


def test_there_is_no_bytecode_at_all_when_the_targets_python_is_not_here(project: Path) -> None:
    """Bytecode of another version would be ignored in Lambda, and weigh."""
    asset = BuiltAssets(project).library_layer(UNKNOWN_PYTHON)
    with zipfile.ZipFile(asset.path) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".pyc")]
    assert not asset.compiled


def test_the_digest_follows_the_sources_and_the_target_and_nothing_else(project: Path) -> None:
    assets = BuiltAssets(project)
    first = assets.library_layer(HOST)
    (project / "layers/turnlog/python/turnlog/client/http.py").write_text("x = 1")
    (project / "layers/turnlog/python/turnlog/domain/event.py").touch()
    assert first == assets.library_layer(HOST)
    assert first.digest != assets.library_layer(CLOUD_TARGET).digest
    (project / "layers/turnlog/python/turnlog/domain/event.py").write_text("x = 1")
    changed = assets.library_layer(HOST)
    assert (first.path, first.digest) != (changed.path, changed.digest)


def test_a_functions_change_leaves_the_other_assets_alone(project: Path) -> None:
    assets = BuiltAssets(project)
    layer, other = assets.library_layer(HOST), assets.function("other_function", HOST)
    (project / "functions/session_api/handler.py").write_text("x = 1")
    assert (layer, other) == (assets.library_layer(HOST), assets.function("other_function", HOST))


def test_dependencies_need_a_lock(project: Path) -> None:
    with pytest.raises(BundleError, match=r"requirements-lambda\.lock is missing"):
        BuiltAssets(project).dependencies_layer(HOST)
