"""Zip files: reproducible, built once, never half there."""

import os
import zipfile
from pathlib import Path

import pytest

from infra import bundle
from infra.bundle import BundleError


def _fill(folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "c.py").write_text("x = 1")
    (folder / "a.py").write_text("y = 2")


def test_a_zip_is_the_same_whatever_the_order_date_and_mode_of_the_files(tmp_path: Path) -> None:
    def other(folder: Path) -> None:
        (folder / "a.py").write_text("y = 2")
        (folder / "b").mkdir()
        (folder / "b" / "c.py").write_text("x = 1")
        (folder / "b" / "c.py").chmod(0o600)
        os.utime(folder / "a.py", (10**9, 10**9))

    one = bundle.cached_zip(tmp_path / "one", "x", "k" * 64, _fill)
    two = bundle.cached_zip(tmp_path / "two", "x", "k" * 64, other)
    assert one.read_bytes() == two.read_bytes()


def test_entries_are_readable_for_lambda_and_dated_1980(tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle.cached_zip(tmp_path, "x", "k" * 64, _fill)) as archive:
        entries = archive.infolist()
    assert ["a.py", "b/c.py"] == [entry.filename for entry in entries]
    assert {0o100644} == {entry.external_attr >> 16 for entry in entries}
    assert {(1980, 1, 1, 0, 0, 0)} == {entry.date_time for entry in entries}


def test_a_build_is_done_once_for_a_key_and_again_for_another(tmp_path: Path) -> None:
    built: list[Path] = []

    def fill(folder: Path) -> None:
        built.append(folder)
        _fill(folder)

    paths = {bundle.cached_zip(tmp_path, "x", key * 64, fill) for key in "aab"}
    assert (2, 2) == (len(built), len(paths))


def test_an_empty_asset_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    """A function deployed from nothing would fail only when it is called."""
    with pytest.raises(BundleError, match="x: nothing"):
        bundle.cached_zip(tmp_path, "x", "k" * 64, lambda folder: (folder / "empty").mkdir())
    assert [] == list(tmp_path.iterdir())


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        _fill(folder)
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        bundle.cached_zip(tmp_path, "x", "k" * 64, fill)
    assert [] == list(tmp_path.iterdir())


def test_the_latest_used_builds_stay_and_other_assets_are_left_alone(tmp_path: Path) -> None:
    other = bundle.cached_zip(tmp_path, "x-other", "0" * 64, _fill)
    builds = [bundle.cached_zip(tmp_path, "x", key * 64, _fill) for key in "abcd"]
    for age, path in enumerate([other, *builds]):
        os.utime(path, (1000 + age, 1000 + age))
    bundle.cached_zip(tmp_path, "x", "a" * 64, _fill)  # used again: now the newest
    newest = bundle.cached_zip(tmp_path, "x", "e" * 64, _fill)
    assert {other, builds[0], builds[2], builds[3], newest} == set(tmp_path.iterdir())


def test_source_files_are_those_of_a_source_tree(tmp_path: Path) -> None:
    for name in ("a.py", "data.json", "__pycache__/a.pyc", "old.pyc", ".hidden/x.py", ".env", "sub/b.py", "out/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = [path.relative_to(tmp_path).as_posix() for path in bundle.source_files(tmp_path, without=["out"])]
    assert ["a.py", "data.json", "sub/b.py"] == found


def test_a_checkout_below_a_dot_folder_is_still_a_source_tree(tmp_path: Path) -> None:
    root = tmp_path / ".work" / "project"
    root.mkdir(parents=True)
    (root / "a.py").write_text("")
    assert [root / "a.py"] == list(bundle.source_files(root))


def test_parts_of_a_digest_cannot_run_into_one_another() -> None:
    assert bundle.digest("ab", "c") != bundle.digest("a", "bc")


def test_a_digest_of_files_knows_names_and_content_but_not_the_place(tmp_path: Path) -> None:
    for root, name, text in (("1", "a", "x"), ("2", "a", "x"), ("3", "b", "x"), ("4", "a", "y")):
        (tmp_path / root).mkdir()
        (tmp_path / root / name).write_text(text)
    one, two, three, four = (bundle.digest_files(f, sorted(f.iterdir())) for f in sorted(tmp_path.iterdir()))
    assert one == two
    assert 3 == len({one, three, four})
