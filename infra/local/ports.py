"""Ports of the loopback interface: whether one is free, and who has it when it is not."""

import re
import shutil
import socket
import subprocess
from pathlib import Path

from infra.local.engine import HOST


class PortError(Exception):
    """The port cannot be used; the text says why and what to do."""


def port_number(text: str) -> int:
    """The value of `PORT`: 1 to 65535.

    Raises:
        PortError: it is something else.
    """
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise PortError(f"PORT must be a number from 1 to 65535, not {text!r}")
    return int(text)


def require_free(port: int) -> None:
    """Make sure that a server can listen on `port`.

    Raises:
        PortError: it is taken, or this user may not listen there.
    """
    if not is_free(port):
        owner = _owner(port)
        by = f" by {owner}" if owner else ""
        raise PortError(f"port {port} is taken{by}. Stop that program, or choose another port: make run PORT=8788")


def is_free(port: int) -> bool:
    """Whether a server can listen on `port` of the loopback interface.

    Raises:
        PortError: this user may not listen there.
    """
    with socket.socket() as probe:
        # As the servers do it: connections that have just been closed do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:
            raise PortError(f"this user may not listen on port {port}; choose one above 1023") from None
        except OSError:
            return False
    # On some systems the test above succeeds beside a server that listens on all interfaces.
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) != 0


def _owner(port: int) -> str | None:
    """Name and id of the process that listens on `port`, as far as this user can see it."""
    pid = _owner_by_lsof(port) if shutil.which("lsof") else _owner_by_proc(port)
    if pid is None:
        return None
    name = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return f"{name or 'a process'} (process {pid})"


def _owner_by_lsof(port: int) -> int | None:
    asked = ["lsof", "-nP", "-t", f"-iTCP:{port}", "-sTCP:LISTEN"]
    found = re.search(r"\d+", subprocess.run(asked, capture_output=True, text=True).stdout)
    return int(found.group()) if found else None


def _owner_by_proc(port: int) -> int | None:
    """Linux: the socket's inode in the kernel's table, then the process that has it open."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        except OSError:
            continue
        listening = "0A"
        inodes |= {row[9] for row in rows if row[3] == listening and int(row[1].rpartition(":")[2], 16) == port}
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for link in Path("/proc").glob("[0-9]*/fd/*") if wanted else ():
        try:
            if str(link.readlink()) in wanted:
                return int(link.parts[2])
        except OSError:
            continue  # another user's process, or one that has just ended
    return None
