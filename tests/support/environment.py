"""Keeps a test session away from everything outside this machine: accounts, profiles, metadata services, proxies."""

import os
from collections.abc import Mapping
from types import MappingProxyType

ORIGINAL: Mapping[str, str] = MappingProxyType(dict(os.environ))
"""The shell's environment before `isolate`. Only the end-to-end tests use it: what they start may have to install."""

_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    # Newer botocore would send some calls to a host named after the account, which no local engine serves.
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
}


def isolate() -> None:
    """Replace every AWS and proxy setting of this process by ones with which no real account can be reached."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ.update(_SETTINGS)
