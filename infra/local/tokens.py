"""`make token`: another development token, for any tenant and user. Needs the issuer's key, not a running stack."""

import argparse
import sys
from collections.abc import Sequence

from infra.local.home import Home
from infra.local.issuer import TENANT, USER, Issuer, NoIssuerError


def main(words: Sequence[str]) -> int:
    """Print a token as the last line of standard output; answers the exit status."""
    parser = argparse.ArgumentParser(prog="make token", description=__doc__)
    parser.add_argument("--tenant", default=TENANT)
    parser.add_argument("--user", default=USER)
    options = parser.parse_args(words)
    try:
        token = Issuer.load(Home.chosen()).token(options.tenant, options.user)
    except NoIssuerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"tenant {options.tenant}, user {options.user}", file=sys.stderr)
    print(token)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
