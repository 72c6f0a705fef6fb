"""The one command that works in a fresh clone: `python3 infra/local/bootstrap.py run` and its sisters.

It needs nothing but a Python of version 3.11 or newer. Everything else is installed from the lock files into virtual
environments of the checkout's own (see `infra.local.environments`), and the command then runs inside them:

    bootstrap.py ensure                                     install what is missing, do nothing else
    bootstrap.py exec [--need engine] [--need node] -- WORDS...   run a command in the environment
    bootstrap.py run                                        the whole stack on this machine (make run)
    bootstrap.py token [--tenant T] [--user U]              another development token (make token)
    bootstrap.py synth                                      the templates (make synth)
    bootstrap.py bootstrap|deploy|destroy                   in an AWS account (make bootstrap, deploy, destroy)

This file alone must be readable by old Pythons, so that they can say what is wrong instead of showing a SyntaxError.
"""

import os
import sys

OLDEST = (3, 11)
CANDIDATES = ("python3.13", "python3.12", "python3.11")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUARD = "TURNLOG_BOOTSTRAP_RESTARTED"


def use_newer_python() -> None:
    """Replace this process by a Python that is new enough; raise SystemExit with advice when there is none."""
    if sys.version_info >= OLDEST:
        return
    if GUARD not in os.environ:
        for name in CANDIDATES:
            for folder in os.environ.get("PATH", "").split(os.pathsep):
                path = os.path.join(folder, name)
                if os.access(path, os.X_OK) and works(path):
                    os.environ[GUARD] = "1"
                    os.execv(path, [path, os.path.abspath(__file__), *sys.argv[1:]])
    raise SystemExit(
        "Turnlog needs Python 3.11 or newer; this is Python %d.%d (%s), and none of %s on the PATH works.\n"  # noqa: UP031
        "Install one (python.org, your package manager, pyenv or uv) and run the command again."
        % (sys.version_info[0], sys.version_info[1], sys.executable, ", ".join(CANDIDATES))
    )


def works(path: str) -> bool:
    """Whether the program at `path` starts: a version manager's shim may stand for a version it does not have."""
    import subprocess

    with open(os.devnull, "w") as nowhere:
        return subprocess.call([path, "-c", ""], stdout=nowhere, stderr=nowhere) == 0


def main() -> int:
    """Check the interpreter, then hand over to `infra.local.command`; answers the exit status."""
    use_newer_python()
    os.environ.pop(GUARD, None)
    # As a script, Python put this file's folder first on the path; the package's root belongs there instead.
    sys.path[0] = ROOT
    from infra.local.command import main as command

    return command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
