"""The real assets of this checkout, opened and run. Slow the first time: pip downloads."""

import json
import re
import subprocess
import sys
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from infra.assets import PROJECT, BuiltAssets
from infra.bytecode import find_interpreter
from infra.settings import CLOUD_TARGET, host_target

pytestmark = pytest.mark.slow

HOST = host_target()
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What Lambda has: ``/opt/python`` from both layers, and ``/var/task``."""
    assets = BuiltAssets()
    opt, task = tmp_path_factory.mktemp("opt"), tmp_path_factory.mktemp("task")
    for asset, place in (
        (assets.dependencies_layer(HOST), opt),
        (assets.library_layer(HOST), opt),
        (assets.function("session_api", HOST), task),
    ):
        with zipfile.ZipFile(asset.path) as archive:
            archive.extractall(place)
    return opt / "python", task


def _run(unpacked: tuple[Path, Path], code: str, *, python: str = sys.executable, **environment: str) -> str:
    """Run code with nothing on the path but the standard library and the unpacked assets, in
    Lambda's order: the function before the layers. Nothing is written beside them."""
    layers, task = unpacked
    prelude = f"import sys; sys.path[:0] = [{str(task)!r}, {str(layers)!r}]\n"
    done = subprocess.run(
        [python, "-I", "-S", "-B", "-c", prelude + code],
        capture_output=True,
        text=True,
        check=False,
        env={"AWS_DEFAULT_REGION": "eu-central-1", "PATH": "/usr/bin:/bin", **environment},
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_the_layers_make_the_clients_that_functions_use(unpacked: tuple[Path, Path]) -> None:
    """The trimmed botocore still has the model of every service that may be called."""
    services = ["bedrock-runtime", "dynamodb", "lambda", "s3", "sqs", "sts"]
    code = f"""
import boto3, json
session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="eu-central-1")
print(json.dumps([session.client(name).meta.service_model.service_name for name in {services!r}]))
print(session.client("stepfunctions").meta.service_model.endpoint_prefix)
print(session.client("dynamodb").can_paginate("query"), boto3.__file__)
"""
    names, states, paginator = _run(unpacked, code).splitlines()
    assert services == json.loads(names)
    assert "states" == states
    assert f"True {unpacked[0]}/boto3/__init__.py" == paginator


def test_the_layers_import_what_functions_import(unpacked: tuple[Path, Path]) -> None:
    code = """
import aws_lambda_powertools, aws_lambda_powertools.metrics, pydantic, turnlog.service, turnlog.domain.event
class Model(pydantic.BaseModel):
    x: int
print(Model.model_validate_json('{"x": 1}').x, pydantic.__file__, turnlog.service.__file__)
"""
    one, pydantic_at, turnlog_at = _run(unpacked, code).split()
    assert "1" == one
    assert str(unpacked[0]) == str(Path(pydantic_at).parents[1]) == str(Path(turnlog_at).parents[1])


def test_the_function_imports_from_its_assets_alone(unpacked: tuple[Path, Path]) -> None:
    """A hollow layer cannot hide: there is no virtual environment on the path."""
    environment = {"TURNLOG_STAGE": "local", "TURNLOG_TABLE": "t", "TURNLOG_BUCKET": "b"}
    code = "import session_api.handler as h; print(callable(h.lambda_handler), h.__file__)"
    assert f"True {unpacked[1]}/session_api/handler.py" == _run(unpacked, code, **environment).strip()


def test_python_uses_the_bytecode_and_never_looks_at_the_source(unpacked: tuple[Path, Path], tmp_path: Path) -> None:
    """With every source spoilt the imports still work: nothing is compiled at a cold start."""
    with zipfile.ZipFile(BuiltAssets().library_layer(HOST).path) as archive:
        archive.extractall(tmp_path)
    for source in tmp_path.rglob("*.py"):
        source.write_text("this is not Python")
    code = "import turnlog.service; print(turnlog.service.__spec__.cached)"
    assert f"{tmp_path}/python/turnlog/__pycache__/" in _run((tmp_path / "python", tmp_path), code)


START = "import session_api.handler as h; print(*h.watch.compiled)"


def _start(unpacked: tuple[Path, Path]) -> list[str]:
    """What a start in Lambda prints: the warning and the metric if there is something to report, and the modules."""
    return _run(
        unpacked,
        START,
        AWS_LAMBDA_FUNCTION_NAME="session_api",
        LAMBDA_TASK_ROOT=str(unpacked[1]),
        TURNLOG_STAGE="local",
        TURNLOG_TABLE="t",
        TURNLOG_BUCKET="b",
    ).splitlines()


def test_a_start_compiles_nothing(unpacked: tuple[Path, Path]) -> None:
    """Neither of ours nor of the third parties', the client included; so nothing is reported."""
    assert [""] == _start(unpacked)


@pytest.mark.parametrize(
    ("root", "module"),
    [
        (0, "botocore.hooks"),
        (0, "turnlog.domain.branch"),
        (0, "turnlog.hosting.bytecode"),  # loaded before anything can watch
        (1, "session_api.answer"),
    ],
)
def test_a_start_without_one_modules_bytecode_reports_that_module(
    unpacked: tuple[Path, Path], root: int, module: str
) -> None:
    """In the log, as a metric, and no other."""
    bytecode = Path(cache_from_source(str(unpacked[root].joinpath(*module.split(".")).with_suffix(".py"))))
    away = bytecode.rename(bytecode.with_suffix(".away"))
    try:
        *told, compiled = _start(unpacked)
    finally:
        away.rename(bytecode)
    warning, metric = map(json.loads, told)

    assert module == compiled
    assert ("WARNING", 1, [module]) == (warning["level"], warning["count"], warning["modules"])
    assert [1.0] == metric["CompiledAtStart"]


def test_without_the_clouds_python_its_assets_carry_no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """They say so, and Lambda compiles: slower, never wrong."""
    monkeypatch.setattr("infra.bytecode.find_interpreter", lambda version: None)
    asset = BuiltAssets().library_layer(CLOUD_TARGET)
    with zipfile.ZipFile(asset.path) as archive:
        assert [] == [name for name in archive.namelist() if name.endswith(".pyc")]
    assert not asset.compiled


def test_the_clouds_python_compiles_nothing_either(tmp_path: Path) -> None:
    """Where it is on the PATH at build time, it made the bytecode of the assets."""
    interpreter = find_interpreter(CLOUD_TARGET.python)
    if interpreter is None:
        pytest.skip(f"no Python {CLOUD_TARGET.python} on the PATH")
    for asset in (BuiltAssets().library_layer(CLOUD_TARGET), BuiltAssets().function("session_api", CLOUD_TARGET)):
        assert asset.compiled
        with zipfile.ZipFile(asset.path) as archive:
            archive.extractall(tmp_path)
    code = f"""
from turnlog.hosting.bytecode import Watch
with Watch([{str(tmp_path)!r}]) as watch:
    import turnlog.service, turnlog.stores.memory, session_api.problems
print(watch.compiled)
"""
    assert "()" == _run((tmp_path / "python", tmp_path), code, python=interpreter.path).strip()


def test_what_only_users_of_the_library_run_is_not_in_the_layer(unpacked: tuple[Path, Path]) -> None:
    assert not [name for name in ("client", "testing", "integrations") if (unpacked[0] / "turnlog" / name).exists()]


def test_the_layers_are_small(unpacked: tuple[Path, Path]) -> None:
    """Lambda takes 250 MB for a function and its layers, unpacked; a cold start wants far less."""
    weight = sum(path.stat().st_size for path in unpacked[0].rglob("*") if path.is_file())
    assert weight < 40 * MEGABYTE


def test_the_clouds_dependencies_are_for_its_python_and_processor() -> None:
    with zipfile.ZipFile(BuiltAssets().dependencies_layer(CLOUD_TARGET).path) as archive:
        compiled = [name for name in archive.namelist() if name.endswith(".so")]
        wheels = [
            archive.read(name).decode() for name in archive.namelist() if re.search(r"pydantic_core.*/WHEEL$", name)
        ]
    assert compiled
    assert not [name for name in compiled if "cpython-313-aarch64-linux-gnu" not in name]
    assert 1 == len(wheels)
    assert "cp313-cp313-manylinux" in wheels[0]


def test_a_second_synthesis_writes_the_same_templates(tmp_path: Path) -> None:
    """The command itself, twice, with the real assets: names of assets are stable."""
    written = []
    for run in ("one", "two"):
        command = [sys.executable, "-m", "infra.app", "-o", str(tmp_path / run)]
        command += ["-c", "stage=local", "-c", "issuer=http://127.0.0.1:8788/x", "-c", "audience=turnlog"]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, done.stderr
        written.append({path.name: path.read_text() for path in (tmp_path / run).glob("*.template.json")})
    assert {"Turnlog-local-Service.template.json", "Turnlog-local-Storage.template.json"} == set(written[0])
    assert written[0] == written[1]
