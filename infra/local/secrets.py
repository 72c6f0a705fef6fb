"""Keys of model providers: out of the shell's environment into the engine's Secrets Manager, where functions look.

A model names a secret; on the laptop a variable of that name holds the key. It stands in no template, on no command
line and in no file of the checkout.
"""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from infra.local.deployment import Target
from infra.local.environments import Say


def bring(models: Mapping[str, Mapping[str, Any]], target: Target, environment: Mapping[str, str], say: Say) -> None:
    """Write every secret that a model names and the environment holds; say which it does not."""
    names = sorted({str(spec["secret"]) for spec in models.values() if spec.get("secret")})
    if not names:
        return
    manager = target.client("secretsmanager")
    for name in names:
        key = environment.get(name)
        if not key:
            say(f"no variable {name} holds the key that a model of MODELS names; an earlier run's key is used, if any")
            continue
        try:
            manager.create_secret(Name=name, SecretString=key)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceExistsException":
                raise
            manager.put_secret_value(SecretId=name, SecretString=key)
