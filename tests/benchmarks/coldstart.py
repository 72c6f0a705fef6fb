"""What a start of session_api takes of the processor, over that of the same API written the usual way.

Both start as Lambda starts them: a fresh interpreter with nothing but the standard library and its own folders on the
path, all from bytecode of one kind, with the DynamoDB client made. Ours comes from the built assets; the usual one
(``usual_api.py``) from the packages that it names, as they are installed here, and from nothing else: what X-Ray's SDK
patches depends on what it finds. The two take turns, the fastest start of each counts, and only the ratio means
anything.
"""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from infra import bytecode
from infra.assets import BuiltAssets
from infra.settings import host_target
from tests.benchmarks.rows import Report, at_most

LIMIT: Final = 0.7
RUNS: Final = 7
ATTEMPTS: Final = 3
USUAL: Final = ("boto3", "aws-lambda-powertools", "aws-xray-sdk", "pydantic")
_USUAL_API: Final = Path(__file__).with_name("usual_api.py")
_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_LAMBDA_FUNCTION_NAME": "session_api",
    "LAMBDA_TASK_ROOT": "/var/task",  # without it Powertools' Tracer thinks that it is not in Lambda
    "PATH": "/usr/bin:/bin",
    "TURNLOG_BUCKET": "b",
    "TURNLOG_STAGE": "local",
    "TURNLOG_TABLE": "t",
}


@dataclass(frozen=True, slots=True)
class Start:
    """A module whose import is a function's start, and the folders that it is started from."""

    module: str
    path: tuple[Path, ...]

    def milliseconds(self) -> float:
        """The processor's time of one fresh interpreter, its own start included."""
        folders = [str(folder) for folder in self.path]
        code = f"import sys; sys.path[:0] = {folders!r}; import {self.module}, resource\n"
        code += "used = resource.getrusage(resource.RUSAGE_SELF); print((used.ru_utime + used.ru_stime) * 1000)"
        command = [sys.executable, "-I", "-S", "-B", "-c", code]
        done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=True)
        return float(done.stdout)


def ours(folder: Path) -> Start:
    """The built assets, unpacked."""
    assets, target = BuiltAssets(), host_target()
    task, layers = folder / "task", folder / "opt"
    for asset, place in (
        (assets.function("session_api", target), task),
        (assets.library_layer(target), layers),
        (assets.dependencies_layer(target), layers),
    ):
        with zipfile.ZipFile(asset.path) as archive:
            archive.extractall(place)
    return Start("session_api.handler", (task, layers / "python"))


def usual(folder: Path) -> Start:
    """The usual stack: its packages and what they need, compiled as the assets are."""
    folder.mkdir(parents=True)
    for needed in closure(USUAL):
        for file in needed.files or ():
            source = Path(str(needed.locate_file(file)))
            if ".." not in file.parts and source.suffix != ".pyc" and source.is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / file)
    shutil.copy(_USUAL_API, folder)
    interpreter = bytecode.find_interpreter(host_target().python)
    assert interpreter is not None
    bytecode.compile_tree(interpreter, folder, runs_at="/opt/python")
    return Start("usual_api", (folder,))


def closure(names: Iterable[str]) -> list[Distribution]:
    """The installed distributions of these names, and what they need in turn."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = distribution(name)
            wanted = map(Requirement, found[name].requires or ())
            waiting += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return list(found.values())


def best(first: Start, second: Start) -> tuple[float, float]:
    """The fastest start of each. Other programs only ever add, so a miss is measured again before it counts."""
    one = other = float("inf")
    for _ in range(ATTEMPTS):
        for _ in range(RUNS):
            one, other = min(one, first.milliseconds()), min(other, second.milliseconds())
        if one / other <= LIMIT:
            break
    return one, other


def measure(folder: Path, report: Report) -> None:
    """The one row."""
    report.group("cold start, over the same API written the usual way")
    mine, theirs = best(ours(folder / "ours"), usual(folder / "usual"))
    shown = f"{mine / theirs:.2f}  ({mine:.0f} / {theirs:.0f} ms of CPU)"
    report.add(at_most("cold import of session_api's handler", mine / theirs, LIMIT, shown=shown))
