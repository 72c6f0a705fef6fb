"""The templates, whole. A change here is a change of what gets deployed: read it, then update it
with ``pytest tests/infra --snapshot-update``."""

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.support.templates import Assembly, blanked


@pytest.mark.parametrize("stack", ["Storage", "Service"])
def test_the_template_is_as_it_was(stage: Assembly, stack: str, snapshot: SnapshotAssertion) -> None:
    """Asset names are blanked, so that a change of the code alone changes nothing here."""
    assert blanked(stage.template(stack), stage.stage) == snapshot(extension_class=JSONSnapshotExtension)


def test_the_alarms_are_as_they_were(cloud: Assembly, snapshot: SnapshotAssertion) -> None:
    assert blanked(cloud.template("Monitoring"), cloud.stage) == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.parametrize("stack", ["Storage", "Service"])
def test_the_template_with_key_and_twin_is_as_it_was(
    secured: Assembly, stack: str, snapshot: SnapshotAssertion
) -> None:
    assert blanked(secured.template(stack), secured.stage) == snapshot(extension_class=JSONSnapshotExtension)
