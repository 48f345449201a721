"""The world's certificate authority, and a certificate for each name on demand.

Strict verifiers want all of it: KeyUsage and BasicConstraints critical, a SubjectKeyIdentifier on the CA, an
AuthorityKeyIdentifier and serverAuth on the leaf, and the name as SAN (RFC 5280 §4.2, clients.md 2).
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_DAYS = 3650
LEAF_DAYS = 300
RENEW_DAYS = 30  # a cached leaf with less left is minted anew
BACKDATE = timedelta(days=1)  # clocks of clients may lag
LEAVES_MAX = 512  # contexts kept; about 30 KiB each
COMMON_NAME_MAX = 64  # RFC 5280 upper bound; longer names stand in the SAN alone
CA_FILE, KEY_FILE = "ca.pem", "ca.key"
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")  # for clients that name nobody: who calls an address sends no SNI

_CA_USAGE = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """The CA: its certificate, its key, and where the certificate that clients trust lies.

    `chain` is empty for the world's own CA. A node's authority sends its certificate along with its leaves.
    """

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    path: Path
    chain: bytes = b""


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its key, as PEM."""

    certificate: bytes
    key: bytes

    def into(self, context: ssl.SSLContext) -> None:
        """Load both. OpenSSL reads files only; ours lives for a moment, in a folder that nobody else may enter."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "identity.pem"
            _write_private(path, self.key + self.certificate)
            context.load_cert_chain(path)


def create_ca(folder: Path, *, name: str, now: float) -> CertificateAuthority:
    """Make the CA of a world, once: `folder`/ca.pem and ca.key (0600). Raises FileExistsError when there is one."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _ca_subject(name)
    start = datetime.fromtimestamp(now, UTC) - BACKDATE
    certificate = (
        _builder(subject, subject, key.public_key(), start, CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)  # 1: for node_authority
        .add_extension(_CA_USAGE, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    _write_private(folder / KEY_FILE, _key_pem(key))
    (folder / CA_FILE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return CertificateAuthority(certificate, key, folder / CA_FILE)


def load_ca(folder: Path) -> CertificateAuthority:
    """The CA that create_ca made. Raises FileNotFoundError."""
    certificate = x509.load_pem_x509_certificate((folder / CA_FILE).read_bytes())
    key = serialization.load_pem_private_key((folder / KEY_FILE).read_bytes(), None)
    return CertificateAuthority(certificate, cast("ec.EllipticCurvePrivateKey", key), folder / CA_FILE)


def issue(ca: CertificateAuthority, name: str, *also: str, now: float, client: bool = False) -> Identity:
    """A leaf for exactly these names (host names or IP addresses); `client`: it may also prove who calls. Raises ValueError."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if _fits_common_name(name) else [])
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, *([ExtendedKeyUsageOID.CLIENT_AUTH] if client else [])]
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    issuer_key = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    start = datetime.fromtimestamp(now, UTC) - BACKDATE
    certificate = (
        _builder(subject, ca.certificate.subject, key.public_key(), start, LEAF_DAYS)
        .add_extension(x509.SubjectAlternativeName([_general_name(each) for each in (name, *also)]), critical=not subject.rdns)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
        .sign(ca.key, hashes.SHA256())
    )
    return Identity(certificate.public_bytes(serialization.Encoding.PEM) + ca.chain, _key_pem(key))


def node_authority(ca: CertificateAuthority, name: str, *, dns: Sequence[str], addresses: Sequence[str], now: float) -> Identity:
    """An intermediate CA for one node: it vouches as a server, for names under `dns` and for the networks `addresses`, and
    for nothing else (RFC 5280 §4.2.1.10). Raises ValueError for a CA that no other may stand under."""
    if ca.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0:
        raise ValueError("this CA was made for one machine: no other may stand under it")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _ca_subject(name)
    issuer_key = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    allowed = [*(x509.DNSName(each) for each in dns), *(x509.IPAddress(ip_network(each)) for each in addresses)]
    certificate = (
        _builder(subject, ca.certificate.subject, key.public_key(), datetime.fromtimestamp(now, UTC) - BACKDATE, LEAF_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_CA_USAGE, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.NameConstraints(permitted_subtrees=allowed, excluded_subtrees=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
        .sign(ca.key, hashes.SHA256())
    )
    return Identity(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def authority_under(root: Path, identity: Identity) -> CertificateAuthority:
    """The CA that node_authority made, for clients that trust the certificate in the file `root`. Raises ValueError."""
    key = serialization.load_pem_private_key(identity.key, None)
    certificate = x509.load_pem_x509_certificate(identity.certificate)
    return CertificateAuthority(certificate, cast("ec.EllipticCurvePrivateKey", key), root, identity.certificate)


def node_certificate(ca: CertificateAuthority, name: str, *, now: float) -> Identity:
    """What a node shows to other nodes, whichever of them calls."""
    return issue(ca, name, now=now, client=True)


class LeafCertificates:
    """Server contexts by name, minted on demand, the least used ones forgotten."""

    def __init__(self, ca: CertificateAuthority, now: Callable[[], float], *, limit: int = LEAVES_MAX) -> None:
        self.ca = ca
        self._now = now
        self._limit = limit
        self._contexts: OrderedDict[str, tuple[float, ssl.SSLContext]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contexts)

    def context_for(self, name: str) -> ssl.SSLContext:
        """The context of one name. 0.2 ms for a new one: key, signature, file."""
        name, now = name.lower().rstrip("."), self._now()
        renew_at, context = self._contexts.get(name, (0.0, None))
        if context is None or now >= renew_at:
            context = bare_server_context()
            issue(self.ca, name, now=now).into(context)
            self._contexts[name] = (now + (LEAF_DAYS - RENEW_DAYS) * 86400, context)
            while len(self._contexts) > self._limit:
                self._contexts.popitem(last=False)
        self._contexts.move_to_end(name)
        return context


def server_context(leaf_certificates: LeafCertificates, *, now: float, local_names: Sequence[str] = LOCAL_NAMES) -> ssl.SSLContext:
    """One context for a listener: the client's SNI chooses the leaf; a client that sends none is shown `local_names`."""
    context = bare_server_context()
    issue(leaf_certificates.ca, *local_names, now=now).into(context)

    def choose(connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> int | None:
        if name:
            with suppress(ValueError):  # no name a certificate can carry: show the local one
                connection.context = leaf_certificates.context_for(name)
        return None

    context.sni_callback = choose
    return context


def bare_server_context() -> ssl.SSLContext:
    """TLS 1.2 and 1.3, HTTP/1.1, and no session tickets: botocore takes them for an answer to Expect and hangs (signing.md 10)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    return context


def client_context(ca: CertificateAuthority) -> ssl.SSLContext:
    """Trusts this world's CA and nobody else, strictly."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(ca.path)
    context.set_alpn_protocols(["http/1.1"])
    return context


def node_server_context(ca: CertificateAuthority, identity: Identity) -> ssl.SSLContext:
    """For a node's listener to other nodes: TLS 1.3, and callers must show a certificate of the CA."""
    context = bare_server_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(ca.path)
    identity.into(context)
    return context


def node_client_context(ca: CertificateAuthority, identity: Identity) -> ssl.SSLContext:
    """For a node that calls another node."""
    context = client_context(ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    identity.into(context)
    return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, start: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + BACKDATE + timedelta(days=days))
    )


def _ca_subject(name: str) -> x509.Name:
    """A long name is cut: what a CA is called is for people, its key identifier tells it apart."""
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Atoll")
    return x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, name[:COMMON_NAME_MAX])])


def _fits_common_name(name: str) -> bool:
    """May it stand in the subject? OpenSSL takes an address there for a host name, which a node's authority may not vouch for."""
    return len(name) <= COMMON_NAME_MAX and isinstance(_general_name(name), x509.DNSName)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_private(path: Path, content: bytes) -> None:
    """Never readable by others, not even for a moment. Raises FileExistsError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
