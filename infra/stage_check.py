"""Lets the library look at what a stage is told about compaction, before anything is deployed."""

from __future__ import annotations

import json
import subprocess
import sys

from infra.assets import PROJECT
from infra.settings import Settings, SettingsError


def check_stage(settings: Settings) -> None:
    """In a process of its own: infra knows the library by its path, and by nothing else.

    Raises:
        SettingsError: the policy or a model is not valid.
    """
    if settings.compaction is None and not settings.models:
        return
    done = subprocess.run(
        [sys.executable, "-m", "turnlog.hosting.stage"],
        cwd=PROJECT / "layers" / "turnlog" / "python",
        input=json.dumps({"compaction": settings.compaction, "models": settings.models}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SettingsError(
            done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "models, compaction: not valid"
        )
