"""The commands of `bootstrap.py`: make the environments, then become the asked-for program inside them."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from infra.local import environments
from infra.local.progress import Progress


def main(words: Sequence[str]) -> int:
    """Run one command of `bootstrap.py` with its `words`; answers the exit status when it could not hand over."""
    options = _parser().parse_args(words)
    progress = Progress()
    try:
        return int(options.action(options, progress))
    except environments.SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _ensure(_options: argparse.Namespace, progress: Progress) -> int:
    environments.ensure(environments.DEVELOPMENT, progress.say)
    environments.ensure(environments.ENGINE, progress.say)
    environments.ensure_node(progress.say)
    progress.say("everything is installed")
    return 0


def _exec(options: argparse.Namespace, progress: Progress) -> int:
    words = _words(options)
    if not words:
        print("error: exec wants a command after --", file=sys.stderr)
        return 2
    return _become(words, options.need, progress)


def _run(_options: argparse.Namespace, progress: Progress) -> int:
    # The runner counts its time from here on, so that a first run shows what the installation took as well.
    os.environ["TURNLOG_STARTED"] = repr(progress.started)
    return _become(["python", "-m", "infra.local.runner"], ["engine", "node"], progress)


def _token(options: argparse.Namespace, progress: Progress) -> int:
    words = ["python", "-m", "infra.local.tokens"]
    if options.tenant:
        words += ["--tenant", options.tenant]
    if options.user:
        words += ["--user", options.user]
    return _become(words, [], progress)


def _synth(options: argparse.Namespace, progress: Progress) -> int:
    return _become(["python", "-m", "infra.synth", *_words(options)], ["node"], progress)


def _cloud(options: argparse.Namespace, progress: Progress) -> int:
    return _become(["python", "-m", "infra.deploy", options.command, *_words(options)], ["node"], progress)


def _words(options: argparse.Namespace) -> list[str]:
    """What stands after the command and a `--`."""
    words: list[str] = options.words
    return words[1:] if words[:1] == ["--"] else words


def _become(words: Sequence[str], needs: Sequence[str], progress: Progress) -> NoReturn:
    """Replace this process: the program keeps our process id, so a signal to make's child reaches it."""
    environments.ensure(environments.DEVELOPMENT, progress.say)
    if "engine" in needs:
        environments.ensure(environments.ENGINE, progress.say)
    node = environments.ensure_node(progress.say) if "node" in needs else None
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(words[0], list(words), environments.variables(environments.DEVELOPMENT, node))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bootstrap.py", description="Run Turnlog from a checkout.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("ensure", help="install everything that is missing").set_defaults(action=_ensure)
    execute = commands.add_parser("exec", help="run a command inside the project's environment")
    execute.add_argument("--need", action="append", choices=["engine", "node"], default=[])
    execute.add_argument("words", nargs=argparse.REMAINDER)
    execute.set_defaults(action=_exec)
    commands.add_parser("run", help="run the whole stack on this machine").set_defaults(action=_run)
    token = commands.add_parser("token", help="print another development token")
    token.add_argument("--tenant", default="")
    token.add_argument("--user", default="")
    token.set_defaults(action=_token)
    synth = commands.add_parser("synth", help="write the CloudFormation templates")
    synth.add_argument("words", nargs=argparse.REMAINDER)
    synth.set_defaults(action=_synth)
    for name, what in (
        ("bootstrap", "prepare an AWS account for the CDK"),
        ("deploy", "deploy into an AWS account"),
        ("destroy", "take it out of the account again"),
    ):
        cloud = commands.add_parser(name, help=what)
        cloud.add_argument("words", nargs=argparse.REMAINDER)
        cloud.set_defaults(action=_cloud, command=name)
    return parser
