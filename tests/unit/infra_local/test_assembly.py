"""A synthesised app is read in the right order and made again exactly when something it depends on changed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local import assembly
from infra.local.assembly import Assembly, SynthesisError

APP = """
import json, os, pathlib
folder = pathlib.Path(os.environ["CDK_OUTDIR"])
folder.mkdir(exist_ok=True)
with open("runs", "a") as runs:
    runs.write(os.environ["CDK_CONTEXT_JSON"])
(folder / "manifest.json").write_text(json.dumps({"artifacts": {}}))
"""


def silent(_text: str) -> None:
    pass


def write(folder: Path, **artifacts: Any) -> Assembly:
    (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    return Assembly(folder)


def stack(name: str, *dependencies: str) -> dict[str, Any]:
    return {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": f"{name}.template.json", "stackName": f"Named-{name}"},
        "dependencies": list(dependencies),
    }


def manifest(folder: Path, name: str, packaging: str = "file") -> dict[str, Any]:
    place = {"bucketName": "assets-${AWS::AccountId}-${AWS::Region}", "objectKey": "a.zip"}
    files = {"a": {"source": {"path": "a.zip", "packaging": packaging}, "destinations": {"here": place}}}
    (folder / f"{name}.json").write_text(json.dumps({"files": files}))
    return {"type": "cdk:asset-manifest", "properties": {"file": f"{name}.json"}}


def test_a_stack_comes_after_those_that_it_depends_on(tmp_path: Path) -> None:
    app = write(tmp_path, Service=stack("Service", "Storage", "Service.assets"), Storage=stack("Storage"))
    assert [template.name for template in app.templates()] == ["Named-Storage", "Named-Service"]
    assert app.templates()[0].path == tmp_path / "Storage.template.json"


def test_files_are_named_as_the_engine_will_know_them(tmp_path: Path) -> None:
    app = write(tmp_path, Assets=manifest(tmp_path, "assets"))
    assert list(app.files()) == [assembly.File(tmp_path / "a.zip", "assets-000000000000-us-east-1", "a.zip")]


def test_a_folder_asset_is_refused_instead_of_uploaded_wrongly(tmp_path: Path) -> None:
    app = write(tmp_path, Assets=manifest(tmp_path, "assets", "zip"))
    with pytest.raises(SynthesisError, match="is a folder"):
        list(app.files())


class TestSynthesise:
    @pytest.fixture(autouse=True)
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A checkout whose CDK app counts its runs."""
        for name in ("infra/local", "functions/f", "layers/l", ".turnlog"):
            (tmp_path / name).mkdir(parents=True)
        for name in ("infra/__init__.py", "functions/f/handler.py", "layers/l/module.py", "cdk.json"):
            (tmp_path / name).write_text("")
        (tmp_path / "infra/app.py").write_text(APP)
        monkeypatch.setattr(assembly, "ROOT", tmp_path)
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        return tmp_path

    def runs(self, project: Path) -> int:
        return (project / "runs").read_text().count("{")

    def synthesise(self, project: Path, **context: str) -> Assembly:
        return assembly.synthesise(project / ".turnlog/out", context, silent)

    def test_it_runs_once_for_the_same_inputs(self, project: Path) -> None:
        for _ in range(2):
            self.synthesise(project, stage="local")
        assert self.runs(project) == 1

    @pytest.mark.parametrize("name", ["infra/app.py", "functions/f/handler.py", "layers/l/module.py", "cdk.json"])
    def test_it_runs_again_when_an_input_changed(self, project: Path, name: str) -> None:
        self.synthesise(project)
        with (project / name).open("a") as file:
            file.write("\n# changed\n")
        self.synthesise(project)
        assert self.runs(project) == 2

    def test_it_runs_again_for_a_new_file_or_another_name(self, project: Path) -> None:
        self.synthesise(project)
        (project / "functions/f/other.py").write_text("")
        self.synthesise(project)
        (project / "functions/f/other.py").rename(project / "functions/f/another.py")
        self.synthesise(project)
        assert self.runs(project) == 3

    @pytest.mark.parametrize("name", ["infra/local/runner.py", "layers/l/__pycache__/module.pyc", "README.md"])
    def test_it_does_not_run_again_for_what_is_no_input(self, project: Path, name: str) -> None:
        self.synthesise(project)
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("anything")
        self.synthesise(project)
        assert self.runs(project) == 1

    def test_it_runs_again_for_another_context(self, project: Path) -> None:
        self.synthesise(project, issuer="http://127.0.0.1:1")
        self.synthesise(project, issuer="http://127.0.0.1:2")
        assert self.runs(project) == 2

    def test_it_runs_again_when_something_to_upload_is_gone(self, project: Path) -> None:
        out = project / ".turnlog/out"
        self.synthesise(project)
        write(out, Assets=manifest(out, "assets"))
        self.synthesise(project)
        assert self.runs(project) == 2

    def test_what_the_app_says_is_shown_when_it_fails(self, project: Path) -> None:
        (project / "infra/app.py").write_text("raise SystemExit('no such stage')")
        with pytest.raises(SynthesisError, match="no such stage"):
            self.synthesise(project)
        (project / "infra/app.py").write_text(APP)
        self.synthesise(project)
        assert self.runs(project) == 1


def test_the_interpreter_is_part_of_what_an_assembly_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    before = assembly._digest({})
    monkeypatch.setattr(sys, "version", "3.99")
    assert assembly._digest({}) != before
