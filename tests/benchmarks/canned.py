"""An HTTP server that gives recorded answers, one after the other, round and round.

A program of its own, so that its processor time is not the client's. It reads from its standard input the answers as a
JSON list of base64 texts, each a whole HTTP response, prints the port that it listens on, and ends with that input.
"""

import base64
import json
import os
import socket
import sys
import threading
from typing import BinaryIO


def main() -> None:
    """Serve one connection after the other."""
    answers = [base64.b64decode(text) for text in json.loads(sys.stdin.readline())]
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=_end_with_input, daemon=True).start()
    at = 0
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as reader:
            while _request(reader):
                connection.sendall(answers[at])
                at = (at + 1) % len(answers)


def _request(reader: BinaryIO) -> bool:
    """Read one request; False when the client has gone."""
    length, line = 0, reader.readline()
    while line not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        line = reader.readline()
    reader.read(length)
    return line != b""


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
