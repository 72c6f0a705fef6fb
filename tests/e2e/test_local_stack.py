"""`make run` from the outside; the tests of its life cycle stop and start the stack that conftest.py keeps."""

import hmac
import json
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.utils import base64url_encode

from infra.local.environments import ROOT
from infra.local.issuer import KEY_ID, Issuer
from tests.support.stack import LocalStack

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("local-stack")]

PROC = Path("/proc")
NEEDS_PROC = pytest.mark.skipif(not (PROC / "self").exists(), reason="reads Linux's /proc")


def exists(stack: LocalStack, session: str) -> bool:
    answer = stack.call("GET", f"/v1/sessions/{session}", token=stack.ready["token"])
    assert answer.status in (200, 404), answer
    return answer.status == 200


def create(stack: LocalStack, session: str) -> None:
    answer = stack.call("POST", "/v1/sessions", token=stack.ready["token"], body={"id": session})
    assert answer.status == 201, answer


class TestReadyFile:
    def test_it_holds_everything_a_caller_needs(self, stack: LocalStack) -> None:
        ready = stack.ready
        assert ready["url"] == f"http://127.0.0.1:{stack.port}/_aws/execute-api/turnlog/$default"
        assert ready["endpoint_url"] == f"http://127.0.0.1:{stack.port}"
        claims = jwt.decode(ready["token"], options={"verify_signature": False})
        assert (claims["custom:tenant"], claims["sub"]) == (ready["tenant"], ready["user"])
        assert stack.call("GET", "/v1/health", token=None).status == 200
        dynamodb = boto3.client("dynamodb", endpoint_url=ready["endpoint_url"])
        assert dynamodb.describe_table(TableName=ready["table"])["Table"]["TableStatus"] == "ACTIVE"
        boto3.client("s3", endpoint_url=ready["endpoint_url"]).head_bucket(Bucket=ready["bucket"])

    def test_expiry_is_on_as_the_template_wants_it(self, stack: LocalStack) -> None:
        dynamodb = boto3.client("dynamodb", endpoint_url=stack.ready["endpoint_url"])
        expiry = dynamodb.describe_time_to_live(TableName=stack.ready["table"])["TimeToLiveDescription"]
        assert (expiry["TimeToLiveStatus"], expiry["AttributeName"]) == ("ENABLED", "expires")

    def test_secrets_are_for_their_owner_only(self, stack: LocalStack) -> None:
        secrets = [stack.home.ready_file, stack.home.header_file, *stack.home.issuer.iterdir()]
        assert {stat.S_IMODE(secret.stat().st_mode) for secret in secrets} == {0o600}
        assert len(secrets) == 4

    def test_the_terminal_shows_url_token_commands_and_time(self, stack: LocalStack) -> None:
        assert stack.ready["url"] in stack.output
        assert stack.ready["token"] in stack.output
        assert "curl -s" in stack.output
        assert re.search(r"ready after \d+ s", stack.output)

    @NEEDS_PROC
    def test_no_secret_stands_on_a_command_line(self, stack: LocalStack) -> None:
        signature = stack.ready["token"].rpartition(".")[2].encode()
        assert not [line for line in command_lines() if signature in line]

    @NEEDS_PROC
    def test_it_listens_on_the_loopback_interface_only(self, stack: LocalStack) -> None:
        ports = {stack.port, stack.issuer.port}
        rows = [row.split() for row in (PROC / "net/tcp").read_text().splitlines()[1:]]
        addresses = {row[1].partition(":")[0] for row in rows if row[3] == "0A" and int(row[1][-4:], 16) in ports}
        assert addresses == {"0100007F"}


def command_lines() -> Iterator[bytes]:
    for path in PROC.glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:
            continue


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def claims_of(issuer: Issuer) -> dict[str, Any]:
    return jwt.decode(issuer.token("t", "u"), options={"verify_signature": False})


def unsigned(issuer: Issuer) -> str:
    return jwt.encode(claims_of(issuer), "", algorithm="none", headers={"kid": KEY_ID})


def signed_with_public_key(issuer: Issuer) -> str:
    """The classic confusion of algorithms. Made by hand: PyJWT refuses to."""
    public = issuer.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    header = base64url_encode(json.dumps({"alg": "HS256", "typ": "JWT", "kid": KEY_ID}).encode())
    signed = header + b"." + base64url_encode(json.dumps(claims_of(issuer)).encode())
    return (signed + b"." + base64url_encode(hmac.digest(public, signed, "sha256"))).decode()


def tampered(issuer: Issuer) -> str:
    head, _, signature = issuer.token("t", "u").split(".")
    payload = jwt.encode({**claims_of(issuer), "sub": "admin"}, "a secret of sufficient length here").split(".")[1]
    return f"{head}.{payload}.{signature}"


class TestTokens:
    def test_a_good_token_opens_the_door(self, stack: LocalStack) -> None:
        assert stack.call("GET", "/v1/sessions", token=stack.issuer.token("t", "u")).status == 200

    @pytest.mark.parametrize(
        "forge",
        [
            pytest.param(lambda issuer: None, id="none at all"),
            pytest.param(lambda issuer: "not.a.token", id="no token"),
            pytest.param(lambda issuer: issuer.token("t", "u", exp=int(time.time()) - 1), id="expired"),
            pytest.param(lambda issuer: issuer.token("t", "u", nbf=int(time.time()) + 600), id="not yet valid"),
            pytest.param(lambda issuer: issuer.token("t", "u", aud="another"), id="for another audience"),
            pytest.param(lambda issuer: issuer.token("t", "u", iss="http://127.0.0.1:1"), id="of another issuer"),
            pytest.param(lambda issuer: Issuer(issuer.port, new_key()).token("t", "u"), id="signed by a foreign key"),
            pytest.param(unsigned, id="unsigned, alg none"),
            pytest.param(signed_with_public_key, id="the public key as a shared secret"),
            pytest.param(tampered, id="claims changed after signing"),
        ],
    )
    def test_a_bad_one_is_unauthorised(self, stack: LocalStack, forge: Callable[[Issuer], str | None]) -> None:
        assert stack.call("GET", "/v1/sessions", token=forge(stack.issuer)).status == 401

    def test_one_without_the_scope_is_forbidden(self, stack: LocalStack) -> None:
        reader = stack.issuer.token("t", "u", scope="sessions:read")
        assert stack.call("GET", "/v1/sessions", token=reader).status == 200
        assert stack.call("POST", "/v1/sessions", token=reader, body={}).status == 403

    def test_make_token_prints_one_for_tenant_and_user_as_its_last_line(self, stack: LocalStack) -> None:
        token = make_token(stack, "TENANT=acme", "USER=bob")
        assert identity(token) == ("acme", "bob")
        assert stack.call("GET", "/v1/sessions", token=token).status == 200

    def test_make_token_takes_the_user_from_its_command_line_only(self, stack: LocalStack) -> None:
        assert identity(make_token(stack)) == (stack.ready["tenant"], stack.ready["user"])


def identity(token: str) -> tuple[str, str]:
    claims = jwt.decode(token, options={"verify_signature": False})
    return claims["custom:tenant"], claims["sub"]


def make_token(stack: LocalStack, *words: str) -> str:
    # A login shell always has USER, and it may have TENANT too.
    environment = stack.environment(USER="from-the-shell", TENANT="from-the-shell")
    done = subprocess.run(
        ["make", "token", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


class TestLifeCycle:
    def test_a_second_run_says_where_the_first_one_is(self, stack: LocalStack) -> None:
        second = stack.run_to_its_end(PORT="1")
        assert second.returncode == 1
        assert stack.ready["url"] in second.stderr
        assert str(stack.ready["pid"]) in second.stderr
        assert stack.call("GET", "/v1/health", token=None).status == 200

    def test_a_taken_port_is_named(self, stack: LocalStack, tmp_path: Path) -> None:
        other = LocalStack(tmp_path).run_to_its_end(PORT=str(stack.port))
        assert other.returncode == 1
        assert f"port {stack.port} is taken" in other.stderr
        assert "PORT=" in other.stderr

    def test_data_url_and_tokens_survive_a_restart(self, stack: LocalStack) -> None:
        before = dict(stack.ready)
        create(stack, "kept")
        assert stack.signal(signal.SIGTERM) == 0
        assert not stack.home.ready_file.exists()
        assert not stack.home.header_file.exists()

        stack.start()
        assert {name: stack.ready[name] for name in ("url", "table", "bucket", "issuer")} == {
            name: before[name] for name in ("url", "table", "bucket", "issuer")
        }
        assert stack.call("GET", "/v1/sessions/kept", token=before["token"]).status == 200

    def test_a_killed_run_loses_nothing_and_the_next_one_replaces_its_file(self, stack: LocalStack) -> None:
        create(stack, "written-before-the-kill")
        killed = stack.ready["pid"]
        assert stack.signal(signal.SIGKILL) == -signal.SIGKILL
        assert stack.home.ready_file.exists()

        stack.start()
        assert f"process {killed} ended without cleaning up" in stack.output
        assert stack.ready["pid"] != killed
        assert exists(stack, "written-before-the-kill")

    def test_fresh_forgets_the_sessions_and_keeps_the_url(self, stack: LocalStack) -> None:
        create(stack, "forgotten")
        before = dict(stack.ready)
        assert stack.signal(signal.SIGINT) == 0

        stack.start(FRESH="1")
        assert stack.ready["url"] == before["url"]
        assert not exists(stack, "forgotten")
        assert stack.call("GET", "/v1/sessions", token=before["token"]).status == 200

    @NEEDS_PROC
    def test_the_end_of_the_engine_is_an_error(self, stack: LocalStack) -> None:
        create(stack, "lost")
        os.kill(child_of(stack.ready["pid"]), signal.SIGKILL)
        assert stack.wait() == 1
        assert "the local engine ended by itself" in stack.output
        assert not stack.home.ready_file.exists()


def child_of(pid: int) -> int:
    children = (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()
    assert len(children) == 1
    return int(children[0])
