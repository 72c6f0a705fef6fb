"""Runs the local engine inside its own environment and ends it in order when its owner is gone.

The owner holds the other end of this process's standard input. When it dies, even by kill -9, the pipe closes, and
the engine gets the same SIGTERM as at a normal stop: it saves its state, and no orphan keeps the port.
"""

import os
import runpy
import signal
import threading


def follow_owner() -> None:
    """Wait for the end of standard input, then ask this very process to end."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=follow_owner, name="follow-owner", daemon=True).start()
    runpy.run_module("ministack", run_name="__main__", alter_sys=True)
