"""Print the configuration of the public S3 suite of Ceph (ceph/s3-tests) for a world that is up, with accounts of its own.

atoll account create alt; atoll account create tenant
python tools/suites/s3tests_conf.py --from us-east-1 > s3tests.conf

The suite's main user is the root user of the world's first account, alt and tenant are those of two others; its `iam root` and
`iam alt root` are the first two accounts once more, and `iam` is the first one. docs/CONFORMANCE.md says how it is run.
"""

from __future__ import annotations

import argparse
import configparser
import json
import os
import subprocess
import sys
from urllib.parse import urlsplit

ROLES = {"main": "main", "alt": "alt", "tenant": "tenant"}  # user of the suite -> account of the world
UNUSED = dict.fromkeys(("token", "aud", "sub", "azp", "user_token", "thumbprint", "KC_REALM"), "x")


def setting(place: str, account: str) -> dict[str, str]:
    """What a client of that account runs with in that place."""
    arguments = ["atoll", "env", "--from", place, "--mode", "endpoint", "--json", "--account", account]
    return dict(json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout))


def accounts() -> dict[str, dict[str, str]]:
    result = subprocess.run(["atoll", "account", "list", "--json"], capture_output=True, text=True, check=True).stdout
    return {row["name"]: row for row in json.loads(result)}


def user(row: dict[str, str], values: dict[str, str], **more: str) -> dict[str, str]:
    """A section. `user_id` is compared with the owners of buckets and objects: the canonical user id."""
    return {
        "display_name": row["name"],
        "email": f"{row['name']}@example.com",
        "user_id": row["canonical_id"],
        "access_key": values["AWS_ACCESS_KEY_ID"],
        "secret_key": values["AWS_SECRET_ACCESS_KEY"],
        **more,
    }


def configuration(place: str, names: dict[str, str]) -> configparser.ConfigParser:
    """Raises KeyError for an account that the world does not have."""
    known = accounts()
    rows = {role: known[name] for role, name in names.items()}
    values = {role: setting(place, name) for role, name in names.items()}
    address = urlsplit(values["main"]["AWS_ENDPOINT_URL"])
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found["DEFAULT"] = {"host": str(address.hostname), "port": str(address.port), "is_secure": "False", "ssl_verify": "False"}
    found["fixtures"] = {"bucket prefix": "s3t-{random}-", "iam name prefix": "s3-tests-", "iam path prefix": "/s3-tests/"}
    found["s3 main"] = user(rows["main"], values["main"], api_name=values["main"]["AWS_REGION"])
    found["s3 alt"] = user(rows["alt"], values["alt"])
    found["s3 tenant"] = user(rows["tenant"], values["tenant"], tenant="tenant")
    for section, role in (("iam", "main"), ("iam root", "main"), ("iam alt root", "alt")):
        found[section] = user(rows[role], values[role], user_id=rows[role]["id"])
    found["webidentity"] = UNUSED
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="place", metavar="PLACE", default="us-east-1")
    for role, name in ROLES.items():
        parser.add_argument(f"--{role}", metavar="ACCOUNT", default=name, help=f"the account of the suite's {role} user (default: {name})")
    given = parser.parse_args()
    try:
        configuration(given.place, {role: getattr(given, role) for role in ROLES}).write(sys.stdout)
    except KeyError as missing:
        print(f"there is no account {missing.args[0]}: atoll account create {missing.args[0]}", file=sys.stderr)
        return os.EX_UNAVAILABLE
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
