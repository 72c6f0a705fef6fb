"""Tokens of every kind: those that the gateway's authorizer takes, and those that it must not."""

import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from jwt.utils import base64url_encode

from infra.local.issuer import KEY_ID, Issuer

TENANT, OTHER_TENANT = "acme", "globex"
OWNER, OTHER_USER = "alice", "bob"
MISSING = object()
"""A claim that is not there at all."""

Headers = list[tuple[str, str]]


def bearer(token: str) -> Headers:
    """The header that carries a token."""
    return [("Authorization", f"Bearer {token}")]


@dataclass(frozen=True)
class Tokens:
    """Makes tokens for the owner of the sessions, unless told otherwise.

    ``rogue`` is another issuer: it serves its own keys at its own address, and nobody has named it to the gateway.
    """

    issuer: Issuer
    rogue: Issuer

    def good(self, user: str = OWNER, tenant: str = TENANT, **claims: Any) -> str:
        """Properly signed; a claim of `MISSING` is left out."""
        given = {"custom:tenant": tenant, "sub": user, **claims}
        if MISSING not in given.values():
            return self.issuer.token(tenant, user, **claims)
        whole = {**claims_of(self.issuer.token(tenant, user)), **given}
        kept = {name: value for name, value in whole.items() if value is not MISSING}
        return jwt.encode(kept, self.issuer.key, algorithm="RS256", headers={"kid": KEY_ID})

    def tenant(self, value: object) -> str:
        """With this as the claim that names the tenant, of whatever JSON type it is."""
        claim: dict[str, Any] = {"custom:tenant": value}
        return self.good(**claim)

    def expired(self) -> str:
        """Since a minute."""
        return self.good(exp=int(time.time()) - 60)

    def not_yet_valid(self) -> str:
        """For ten minutes."""
        return self.good(nbf=int(time.time()) + 600)

    def unsigned(self, algorithm: str = "none") -> str:
        """Without a signature, and saying so in this spelling."""
        header = _part({"alg": algorithm, "typ": "JWT", "kid": KEY_ID})
        return f"{header}.{_part(claims_of(self.good()))}."

    def signature_cut_off(self) -> str:
        """Properly made, with an empty signature."""
        return self.good().rpartition(".")[0] + "."

    def tampered(self) -> str:
        """Another user's token, in which somebody has written the owner's name."""
        head, _, signature = self.good(user=OTHER_USER).split(".")
        return f"{head}.{_part(claims_of(self.good()))}.{signature}"

    def of_the_rogue(self, **claims: Any) -> str:
        """Signed by the other issuer, under its own name."""
        return self.rogue.token(TENANT, OWNER, **claims)

    def signed_by_the_rogue(self, **header: Any) -> str:
        """In the right issuer's name with the other's key, under the same key id unless ``header`` says otherwise."""
        claims = claims_of(self.good())
        return jwt.encode(claims, self.rogue.key, algorithm="RS256", headers={"kid": KEY_ID, **header})

    def with_the_rogue_key_inside(self) -> str:
        """The header brings the key to check it by."""
        public = RSAAlgorithm.to_jwk(self.rogue.key.public_key(), as_dict=True)
        return self.signed_by_the_rogue(jwk={**public, "kid": KEY_ID}, jku=f"{self.rogue.url}/.well-known/jwks.json")

    def signed_with_the_public_key(self) -> str:
        """HS256 with the published key as the secret. Made by hand: PyJWT refuses to."""
        public = self.issuer.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        signed = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': KEY_ID})}.{_part(claims_of(self.good()))}"
        return f"{signed}.{base64url_encode(hmac.digest(public, signed.encode(), 'sha256')).decode()}"


def claims_of(token: str) -> dict[str, Any]:
    """What a token says, unchecked."""
    return jwt.decode(token, options={"verify_signature": False})


def a_key() -> rsa.RSAPrivateKey:
    """A new key."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _part(content: Mapping[str, Any]) -> str:
    return base64url_encode(json.dumps(content).encode()).decode()
