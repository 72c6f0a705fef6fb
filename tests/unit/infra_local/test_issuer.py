"""The local issuer: tokens that its published key verifies, and an address that stays."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jwt
import pytest

from infra.local import tokens
from infra.local.engine import free_port
from infra.local.home import VARIABLE, Home, write_private
from infra.local.issuer import AUDIENCE, Issuer, NoIssuerError


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def issuer(home: Home) -> Issuer:
    return Issuer.create(home, free_port())


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def test_a_token_is_verified_by_what_the_issuer_publishes(issuer: Issuer) -> None:
    with issuer.serving():
        discovery = fetch(f"{issuer.url}/.well-known/openid-configuration")
        assert discovery["issuer"] == issuer.url
        (published,) = fetch(discovery["jwks_uri"])["keys"]
    token = issuer.token("acme", "bob")
    assert jwt.get_unverified_header(token) == {"alg": "RS256", "typ": "JWT", "kid": published["kid"]}
    claims = jwt.decode(token, jwt.PyJWK(published), audience=AUDIENCE, issuer=issuer.url)
    assert (claims["custom:tenant"], claims["sub"]) == ("acme", "bob")
    assert claims["scope"] == "sessions:read sessions:write agents:write"
    assert claims["exp"] - claims["iat"] == 7 * 24 * 3600


def test_the_private_key_is_not_published(issuer: Issuer) -> None:
    (key,) = issuer.documents()["/.well-known/jwks.json"]["keys"]
    assert key.keys() == {"kty", "n", "e", "kid", "use", "alg", "key_ops"}


def test_nothing_else_is_served(issuer: Issuer) -> None:
    with issuer.serving(), pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(f"{issuer.url}/key.pem")


def test_it_is_loaded_as_it_was_made(home: Home, issuer: Issuer) -> None:
    loaded = Issuer.load(home)
    assert loaded.url == issuer.url
    assert loaded.documents() == issuer.documents()


def test_it_can_move_and_keeps_its_key(home: Home, issuer: Issuer) -> None:
    moved = issuer.moved(home, free_port())
    assert moved.url != issuer.url
    assert Issuer.load(home).url == moved.url
    assert moved.key is issuer.key


@pytest.mark.parametrize(
    ("file", "content"),
    [("issuer.json", "{torn"), ("issuer.json", "{}"), ("issuer.json", '{"port": "x"}'), ("key.pem", "no key")],
)
def test_a_damaged_one_is_said_to_be_damaged(home: Home, issuer: Issuer, file: str, content: str) -> None:
    write_private(home.issuer / file, content)
    with pytest.raises(NoIssuerError, match="damaged"):
        Issuer.load(home)


class TestMakeToken:
    def test_the_token_is_the_last_line(
        self, home: Home, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv(VARIABLE, str(home.path))
        assert tokens.main(["--tenant", "acme", "--user", "bob"]) == 0
        claims = jwt.decode(
            capsys.readouterr().out.splitlines()[-1], issuer.key.public_key(), ["RS256"], audience=AUDIENCE
        )
        assert (claims["custom:tenant"], claims["sub"]) == ("acme", "bob")

    def test_without_an_issuer_it_says_how_to_get_one(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv(VARIABLE, str(home.path))
        assert tokens.main([]) == 1
        said = capsys.readouterr()
        assert "make run makes it" in said.err
        assert said.out == ""
