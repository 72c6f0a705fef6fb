"""`make bench`: what the store costs, beside the targets of the design; exit status 1 when one is missed."""

import sys
import tempfile
import time
from pathlib import Path

from tests.support.environment import isolate

isolate()

# Only now: a client that is made must find the guarded environment.
from tests.benchmarks import coldstart, conversations, cpu, operations  # noqa: E402
from tests.benchmarks.rig import running_rig  # noqa: E402
from tests.benchmarks.rows import NOT_YET, Report  # noqa: E402


def main() -> int:
    """Measure, print, and answer the exit status."""
    began = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder, running_rig(Path(folder)) as rig:
        print("requests, write units (WU), read units (RU) and bytes on the wire, by the meter")
        cpu.measure(rig, report)  # first: a full heap would slow the smaller side more
        operations.measure(rig, report)
        conversations.measure(rig, report)
        coldstart.measure(Path(folder) / "coldstart", report)
    report.group("later")
    report.not_yet(NOT_YET)
    print(f"\n{time.monotonic() - began:.0f} s")
    print(report.summary(NOT_YET))
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
