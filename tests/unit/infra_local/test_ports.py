"""A taken port is found out before anything starts, and its owner named."""

import os
import socket
from collections.abc import Iterator

import pytest

from infra.local import ports
from infra.local.engine import free_port
from infra.local.ports import PortError


@pytest.fixture(params=["127.0.0.1", "0.0.0.0"])
def listener(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port that this process listens on."""
    with socket.socket() as server:
        server.bind((request.param, 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize("text", ["", "0", "65536", "-1", "80a", "8 0", "١٢", "123456"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(PortError, match="PORT must be"):
        ports.port_number(text)


@pytest.mark.parametrize(("text", "port"), [("1", 1), ("8787", 8787), ("65535", 65535)])
def test_what_is_a_port_is_taken(text: str, port: int) -> None:
    assert ports.port_number(text) == port


def test_a_free_port_is_free() -> None:
    ports.require_free(free_port())


def test_a_port_that_was_used_a_moment_ago_is_free() -> None:
    """Its closed connections are still in the kernel's books."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()
            client.recv(1)
    assert ports.is_free(port)


def test_a_taken_port_is_not_free_and_its_owner_is_named(listener: int) -> None:
    assert not ports.is_free(listener)
    with pytest.raises(PortError, match=rf"port {listener} is taken by .*process {os.getpid()}.*PORT="):
        ports.require_free(listener)


def test_a_server_on_all_interfaces_is_found_where_binding_beside_it_is_allowed(
    listener: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS: to bind is no proof there."""
    monkeypatch.setattr(socket.socket, "bind", lambda self, address: None)
    assert not ports.is_free(listener)


def test_an_owner_that_cannot_be_seen_is_left_out(listener: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_owner", lambda port: None)
    with pytest.raises(PortError, match=rf"port {listener} is taken\. "):
        ports.require_free(listener)
