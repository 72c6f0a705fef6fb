"""docs/deploy.md names every setting, with its real default, and the version of the CDK CLI."""

import dataclasses
import re

from infra.assets import PROJECT
from infra.deploy import CDK_CLI
from infra.settings import Settings

PAGE = (PROJECT / "docs" / "deploy.md").read_text(encoding="utf-8")
ROWS = {
    name: default.strip(" `")
    for names, default in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|(.*?)\| .*\|$", PAGE, re.MULTILINE)
    for name in re.findall(r"\w+", names)
}


def test_every_setting_is_in_the_table() -> None:
    """`target` follows from the stage."""
    fields = {field.name for field in dataclasses.fields(Settings)} - {"target"}
    assert fields | {"host_python"} == ROWS.keys()


def test_the_defaults_are_the_real_ones() -> None:
    settings = Settings()
    for field in dataclasses.fields(Settings):
        default = getattr(settings, field.name)
        if isinstance(default, (str, int)) and not isinstance(default, bool):
            assert str(default) == ROWS[field.name], field.name


def test_the_page_names_the_pinned_cli() -> None:
    assert f"`{CDK_CLI}`" in PAGE
