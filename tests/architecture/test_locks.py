"""The lock files: current, complete, and alike where they have to be."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT

LOCKS = sorted(ROOT.glob("requirements-*.lock"))
PINNED = re.compile(r"^([a-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def test_the_locks_belong_to_their_inputs() -> None:
    """Whoever changes a dependency runs ``make lock``."""
    answer = subprocess.run(
        [sys.executable, str(ROOT / ".ci/locks.py"), "check"], capture_output=True, text=True, check=False
    )

    assert 0 == answer.returncode, answer.stdout


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_each_requirement_has_hashes_and_no_address(lock: Path) -> None:
    """pip takes exactly the files that were tried, from any mirror."""
    text = lock.read_text()

    entries = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert entries
    assert [] == [entry for entry in entries if "--hash=sha256:" not in entry]
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["boto3", "botocore", "s3transfer", "jmespath", "urllib3"])
def test_the_aws_sdk_is_one_version_everywhere(name: str) -> None:
    """What the tests call with is what the layer holds and what the engine was tried with."""
    versions = {dict(PINNED.findall(lock.read_text())).get(name) for lock in LOCKS} - {None}

    assert 1 == len(versions), versions
