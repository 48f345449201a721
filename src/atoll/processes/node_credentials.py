"""The bundle of certificates and keys with which a place joins: `atoll node-key` makes it, `atoll serve` reads it.

ca.pem      the world's CA, for clients and for every connection between nodes
node.pem    this node's certificate and its key: mutual TLS
leaves.pem  an authority under the CA, for AWS's names and this place's own addresses: TLS towards clients
node.key    the key of the envelopes that say for whom a node asks (rules/peer_envelope)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509

from atoll.domain.os_error_messages import reason
from atoll.net.certificates import CertificateAuthority, Identity, authority_under, load_ca, node_authority, node_certificate
from atoll.processes.home_folder import Home, write_whole
from atoll.processes.start_world import prepare
from atoll.processes.world_config import Place, World

NODE_SUFFIX = ".node.atoll.internal"  # names of nodes; no authority of a node may vouch for one
AWS_DOMAINS = ("amazonaws.com", "amazonaws.com.cn", "api.aws", "cloudfront.net", "localhost")
LOOPBACK = ("127.0.0.0/8", "::1/128")
CA, NODE, LEAVES, KEY = "ca.pem", "node.pem", "leaves.pem", "node.key"
OTHERS = 0o077  # mode bits that nobody but the owner may have


class BundleError(Exception):
    """There is no bundle that can be used. The text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What `load` found. `until` is when its certificates end, in seconds."""

    identity: Identity
    leaf_certificates: CertificateAuthority
    key: bytes
    until: float


def node_name(place: str) -> str:
    """The name in a node's certificate."""
    return place + NODE_SUFFIX


def make(home: Home, world: World, place: str, out: Path | None) -> Path:
    """Make or renew the bundle of a place, with the CA of this home (which is made too if there is none). Raises BundleError."""
    if place not in world.by_name:
        raise BundleError(f"{place} is no place of this world; there are: {', '.join(world.by_name)}")
    prepare(home.make())
    folder = out or home.root / "nodes" / place
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ca, now = load_ca(home.root), time.time()
    try:
        leaf_certificates = node_authority(ca, f"Atoll {place}", dns=AWS_DOMAINS + _names(world.by_name[place]), addresses=_networks(world.by_name[place]), now=now)
    except ValueError as error:
        raise BundleError(f"{home.ca}: {error}; make the bundles from a new folder") from error
    node = node_certificate(ca, node_name(place), now=now)
    write_whole(folder / CA, home.ca.read_bytes())
    write_whole(folder / NODE, node.certificate + node.key)
    write_whole(folder / LEAVES, leaf_certificates.certificate + leaf_certificates.key)
    write_whole(folder / KEY, home.node_key.read_bytes())
    return folder


def load(folder: Path, place: str, *, now: float) -> Bundle:
    """Raises BundleError."""
    files = {name: _read(folder / name, place) for name in (CA, NODE, LEAVES, KEY)}
    identity = _identity(folder / NODE, files[NODE])
    certificate = x509.load_pem_x509_certificate(identity.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    if node_name(place) not in names:
        raise BundleError(f"the bundle in {folder} is for {', '.join(names)}, not for {place}")
    until = certificate.not_valid_after_utc.timestamp()
    if until <= now:
        raise BundleError(f"the certificates in {folder} have expired; {_advice(place)}")
    return Bundle(identity, authority_under(folder / CA, _identity(folder / LEAVES, files[LEAVES])), files[KEY], until)


def _read(path: Path, place: str) -> bytes:
    try:
        if path.stat().st_mode & OTHERS:
            raise BundleError(f"{path} can be read by others; chmod 600 it, or make it anew if they should not have seen it")
        return path.read_bytes()
    except OSError as error:
        raise BundleError(f"{path} cannot be read ({reason(error)}); {_advice(place)}") from error


def _identity(path: Path, text: bytes) -> Identity:
    """A certificate and a key in one file."""
    certificate, begin, key = text.partition(b"-----BEGIN PRIVATE KEY-----")
    identity = Identity(certificate, begin + key)
    try:
        authority_under(path, identity)
    except ValueError as error:
        raise BundleError(f"{path} is not what node-key made: {error}") from error
    return identity


def _advice(place: str) -> str:
    return f"make it with `atoll node-key {place}` where the world's CA is, and copy the folder here"


def _hosts(place: Place) -> Iterator[str]:
    return (listener.host for listener in (place.address, place.node) if listener is not None)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _names(place: Place) -> tuple[str, ...]:
    return tuple(host for host in _hosts(place) if not _is_address(host))


def _networks(place: Place) -> tuple[str, ...]:
    return LOOPBACK + tuple(host for host in _hosts(place) if _is_address(host))
