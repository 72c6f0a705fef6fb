"""The local issuer: signs development tokens and publishes the key that the gateway's JWT authorizer checks them by.

It is a real one. The authorizer discovers it by OpenID Connect and verifies RS256 signatures, issuer, audience and
expiry as it would in the cloud; only the address, on the loopback interface, would be refused there.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from infra.local.engine import HOST
from infra.local.home import Home, write_private

AUDIENCE = "turnlog"
SCOPE = "sessions:read sessions:write agents:write"
TENANT = "local"
USER = "developer"
LIFETIME_SECONDS = 7 * 24 * 3600
KEY_ID = "turnlog-local"


class NoIssuerError(Exception):
    """There is no issuer yet: `make run` makes it."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """An address and the private key that belongs to it."""

    port: int
    key: rsa.RSAPrivateKey

    @property
    def url(self) -> str:
        """What stands in a token's `iss` and in the authorizer's configuration."""
        return f"http://{HOST}:{self.port}"

    @classmethod
    def load(cls, home: Home) -> "Issuer":
        """The issuer that an earlier start made.

        Raises:
            NoIssuerError: there is none, or its files are damaged.
        """
        try:
            port = json.loads((home.issuer / "issuer.json").read_text(encoding="utf-8"))["port"]
            key = serialization.load_pem_private_key((home.issuer / "key.pem").read_bytes(), password=None)
        except FileNotFoundError:
            raise NoIssuerError(f"there is no issuer in {home.issuer} yet; make run makes it") from None
        except (ValueError, KeyError, TypeError) as error:
            raise NoIssuerError(
                f"the issuer in {home.issuer} is damaged ({error}); make run makes a new one"
            ) from error
        if not isinstance(key, rsa.RSAPrivateKey) or not isinstance(port, int):
            raise NoIssuerError(f"the issuer in {home.issuer} is damaged; make run makes a new one")
        return cls(port, key)

    @classmethod
    def create(cls, home: Home, port: int) -> "Issuer":
        """Make a new key, published at `port`, and keep both in `home`, readable by their owner only."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        write_private(home.issuer / "key.pem", pem.decode())
        return cls(port, key).moved(home, port)

    def moved(self, home: Home, port: int) -> "Issuer":
        """The same key at another port; tokens that name the old address are no longer accepted."""
        write_private(home.issuer / "issuer.json", json.dumps({"port": port}))
        return Issuer(port, self.key)

    def token(self, tenant: str, user: str, **claims: Any) -> str:
        """A signed token for `user` of `tenant`; `claims` are added, or replace what would stand there."""
        now = int(time.time())
        payload = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": user,
            "custom:tenant": tenant,
            "scope": SCOPE,
            "iat": now,
            "exp": now + LIFETIME_SECONDS,
        }
        return jwt.encode({**payload, **claims}, self.key, algorithm="RS256", headers={"kid": KEY_ID})

    def documents(self) -> Mapping[str, Mapping[str, Any]]:
        """What is published, by path: the discovery document and the public key."""
        public = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/.well-known/jwks.json",
                "id_token_signing_alg_values_supported": ["RS256"],
                "response_types_supported": ["token"],
                "subject_types_supported": ["public"],
            },
            "/.well-known/jwks.json": {"keys": [{**public, "kid": KEY_ID, "use": "sig", "alg": "RS256"}]},
        }

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Publish the documents for as long as the block lasts.

        Raises:
            OSError: the port is taken.
        """
        documents = {path: json.dumps(document).encode() for path, document in self.documents().items()}
        with ThreadingHTTPServer((HOST, self.port), _handler(documents)) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="issuer", daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()


def _handler(documents: Mapping[str, bytes]) -> type[BaseHTTPRequestHandler]:
    class Documents(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = documents.get(self.path)
            self.send_response(HTTPStatus.NOT_FOUND if document is None else HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(document or b"")))
            self.end_headers()
            self.wfile.write(document or b"")

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the runner's output is for its user."""

    return Documents
