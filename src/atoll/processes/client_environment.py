"""Variables with which an unmodified client enters the world at a place (clients.md, section 3).

Standard library only: `atoll exec`, `env` and `status` start a client in a few tens of milliseconds.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from atoll.processes.account_reader import Account

Mode = Literal["proxy", "endpoint", "sealed"]
MODES: tuple[Mode, ...] = ("proxy", "endpoint", "sealed")

# Variables that would lead a client out of the world, or into another one.
REMOVED = (
    "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "ALL_PROXY", "all_proxy",
    "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "AWS_DEFAULT_PROFILE", "AWS_SECURITY_TOKEN", "AWS_CREDENTIAL_EXPIRATION",
)  # fmt: skip
REMOVED_PREFIX = "AWS_ENDPOINT_URL"
SERVICES = ("", "_S3", "_S3_CONTROL", "_STS", "_IAM")  # what may stand behind it for the services that are here
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
# Inside a sealed network there is no proxy, and every certificate file holds the world's CA already. AWS_CA_BUNDLE is left out
# because clients on an early Go SDK refuse to start with it (rclone 1.60); what else reads it reads REQUESTS_CA_BUNDLE too.
SEALED_REMOVED = (*PROXIES, "NO_PROXY", "no_proxy", "AWS_CA_BUNDLE")
SEALED_BUNDLE = Path("sealed", "ca-bundle.pem")  # in the home: what the system trusts, and the world's CA


class NoSuchPlace(Exception):
    """The world has no place of that name. The text lists those that it has."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Variables to set and to remove."""

    values: Mapping[str, str]
    removed: tuple[str, ...]

    def applied_to(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The environment of a command that runs in the place."""
        kept = {
            name: value
            for name, value in inherited.items()
            if name not in self.removed and not name.startswith(REMOVED_PREFIX)
        }
        return kept | dict(self.values)

    def as_shell(self) -> str:
        """Lines for `eval "$(atoll env)"`."""
        names = (*self.removed, *(REMOVED_PREFIX + service for service in SERVICES))
        lines = [f"unset {name}" for name in names if name not in self.values]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in self.values.items()]
        return "\n".join(lines)


def place_of(run: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A place's row in run.json. Raises NoSuchPlace."""
    for place in run["places"]:
        if place["name"] == name:
            return dict(place)
    raise NoSuchPlace(f"{name} is no place of this world; there are: {', '.join(place['name'] for place in run['places'])}")


def preload() -> Path:
    """The file that makes Node's SDK use the proxy."""
    return Path(str(resources.files("atoll.processes").joinpath("preload.cjs")))


def setting(
    run: Mapping[str, Any],
    home: Path,
    place: Mapping[str, Any],
    *,
    mode: Mode = "proxy",
    node: bool = False,
    account: Account | None = None,
) -> Setting:
    """What a client in `place` runs with. `node` adds the preload for the AWS SDK for JavaScript. `account`: whose root key
    pair it signs with (None: the first account's)."""
    url, ca = f"http://127.0.0.1:{place['port']}", str(home / "ca.pem")
    region = place["region"]  # of a city: its nearest
    values = {
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ACCESS_KEY_ID": account.access_key if account else run["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": account.secret if account else run["secret_access_key"],
        "AWS_CONFIG_FILE": str(home / "aws" / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(home / "aws" / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "NODE_EXTRA_CA_CERTS": ca,
    }
    if mode == "sealed":
        bundle = str(home / SEALED_BUNDLE)
        return Setting(
            values | {"SSL_CERT_FILE": bundle, "CURL_CA_BUNDLE": bundle, "REQUESTS_CA_BUNDLE": bundle},
            tuple(name for name in REMOVED if name != "REQUESTS_CA_BUNDLE") + SEALED_REMOVED,
        )
    values |= {"AWS_CA_BUNDLE": ca, "SSL_CERT_FILE": ca, "CURL_CA_BUNDLE": ca}
    values["NODE_USE_ENV_PROXY"] = "1"  # Node's fetch then reads the proxy variables, from 22.21 and 24 on
    # a lower-case variable in the shell beats the upper-case one, and calls would leave the world. NO_PROXY stays empty for an
    # endpoint too: in Python 127.0.0.1 there also matches ACCOUNT.127.0.0.1, s3control's host, which only the proxy can find
    values |= {**dict.fromkeys(PROXIES, url), "NO_PROXY": "", "no_proxy": ""}
    if mode == "endpoint":
        # s3control puts the account before the host, and ACCOUNT.127.0.0.1 is no URL for JavaScript; this one only the proxy finds
        values |= {"AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_S3_CONTROL": f"http://localhost:{place['port']}"}
    if node:
        values["NODE_OPTIONS"] = f"--require {preload()}"
    return Setting(values, REMOVED)
