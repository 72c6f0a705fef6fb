"""The dependencies layer: what may be in its lock file, and what is left of its packages."""

from pathlib import Path

import pytest

from infra import dependencies
from infra.assets import PROJECT
from infra.bundle import BundleError
from infra.settings import CLOUD_TARGET

LOCK = PROJECT / "requirements-lambda.lock"


def _lock(folder: Path, line: str) -> Path:
    path = folder / "some.lock"
    path.write_text(f"# made by a tool; not a marker\n{line} \\\n    --hash=sha256:{'0' * 64}\n")
    return path


def test_the_projects_lock_pins_every_package_with_hashes_and_names_no_index() -> None:
    dependencies.check_lock(LOCK)
    lines = LOCK.read_text().splitlines()
    packages = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert packages
    assert all("==" in line and line.endswith("\\") for line in packages), packages
    assert not any("://" in line for line in lines)


def test_the_lock_holds_what_the_functions_import() -> None:
    names = {line.split("==")[0] for line in LOCK.read_text().splitlines() if "==" in line}
    assert {"aws-lambda-powertools", "boto3", "botocore", "pydantic"} <= names


def test_a_lock_with_an_environment_marker_is_refused(tmp_path: Path) -> None:
    """pip would decide it by the Python that builds, not by the one that runs."""
    with pytest.raises(BundleError, match=r"markers .*tomli"):
        dependencies.check_lock(_lock(tmp_path, "tomli==2.0.1 ; python_full_version < '3.11'"))


def test_a_missing_lock_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"none\.lock is missing"):
        dependencies.check_lock(tmp_path / "none.lock")


def test_a_refusal_of_pip_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    lock = _lock(tmp_path, "turnlog-no-such-package==1.0")
    with pytest.raises(BundleError, match=r"(?s)some\.lock for py3\.13-manylinux2014_aarch64.*turnlog-no-such-package"):
        dependencies.install(lock, CLOUD_TARGET, tmp_path / "python")


def _packages(root: Path, services: frozenset[str]) -> None:
    for service in services | {"ec2", "zebra"}:
        folder = root / "botocore" / "data" / service / "2020-01-01"
        folder.mkdir(parents=True)
        (folder / "service-2.json.gz").write_text("")
        (folder / "examples-1.json").write_text("")
    (root / "botocore" / "data" / "endpoints.json").write_text("")
    (root / "bin").mkdir()
    (root / "bin" / "jp.py").write_text("")


def test_only_the_models_that_a_function_can_need_stay(tmp_path: Path) -> None:
    _packages(tmp_path, dependencies.KEPT_SERVICES)
    dependencies.trim(tmp_path)
    left = {path.name for path in (tmp_path / "botocore" / "data").iterdir()}
    assert dependencies.KEPT_SERVICES | {"endpoints.json"} == left
    assert (tmp_path / "botocore/data/dynamodb/2020-01-01/service-2.json.gz").exists()
    assert [] == list(tmp_path.rglob("examples-1.json"))
    assert not (tmp_path / "bin").exists()


def test_a_model_that_moved_stops_the_build(tmp_path: Path) -> None:
    _packages(tmp_path, dependencies.KEPT_SERVICES - {"dynamodb"})
    with pytest.raises(BundleError, match="no model of dynamodb"):
        dependencies.trim(tmp_path)
