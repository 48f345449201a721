import stat
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from atoll.net.certificates import (
    KEY_FILE,
    LeafCertificates,
    authority_under,
    create_ca,
    issue,
    load_ca,
    node_authority,
    node_certificate,
)

NOW = 1_800_000_000.0
DAY = 86400


@pytest.fixture
def ca(tmp_path):
    return create_ca(tmp_path / "ca", name="world", now=NOW)


def leaf(ca, *names, **options):
    return x509.load_pem_x509_certificate(issue(ca, *names, now=NOW, **options).certificate)


def test_the_authority_says_what_strict_verifiers_want(ca):
    extensions = ca.certificate.extensions
    basic = extensions.get_extension_for_class(x509.BasicConstraints)
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert (basic.critical, basic.value.ca) == (True, True)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    assert extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    assert ca.certificate.not_valid_after_utc == datetime.fromtimestamp(NOW, UTC) + timedelta(days=3650)


def test_its_key_is_for_its_owner_only(ca):
    assert stat.S_IMODE((ca.path.parent / KEY_FILE).stat().st_mode) == 0o600


def test_it_is_made_once_and_read_afterwards(ca):
    with pytest.raises(FileExistsError):
        create_ca(ca.path.parent, name="again", now=NOW)
    assert load_ca(ca.path.parent).certificate == ca.certificate


def test_a_leaf_is_for_exactly_its_name(ca):
    certificate = leaf(ca, "a.s3.amazonaws.com")
    extensions = certificate.extensions
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [x509.DNSName("a.s3.amazonaws.com")]
    uses = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.SERVER_AUTH]
    authority = extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    subject = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert authority.key_identifier == subject.key_identifier
    assert certificate.not_valid_after_utc == datetime.fromtimestamp(NOW, UTC) + timedelta(days=300)


def test_an_address_stands_as_an_address(ca):
    names = leaf(ca, "10.0.0.1").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each.value) for each in names] == ["10.0.0.1"]


def test_a_node_may_serve_and_call(ca):
    certificate = x509.load_pem_x509_certificate(node_certificate(ca, "n", now=NOW).certificate)
    uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


@pytest.mark.parametrize("name", ["a.s3.amazonaws.com", "127.0.0.1", "x" * 60 + ".mrap.accesspoint.s3-global.amazonaws.com"])
def test_openssl_verifies_strictly(ca, tmp_path, name):
    path = tmp_path / "leaf.pem"
    path.write_bytes(issue(ca, name, now=NOW).certificate)
    command = ["openssl", "verify", "-x509_strict", "-attime", str(int(NOW)), "-CAfile", str(ca.path), str(path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.endswith(": OK\n")


def test_contexts_are_kept_by_name_and_forgotten_by_age_of_use(ca):
    leaf_certificates = LeafCertificates(ca, lambda: NOW, limit=2)
    first = leaf_certificates.context_for("a")
    leaf_certificates.context_for("b")
    assert leaf_certificates.context_for("A.") is first
    leaf_certificates.context_for("c")
    assert leaf_certificates.context_for("a") is first
    assert len(leaf_certificates) == 2


def test_a_leaf_is_made_anew_before_it_ends(ca):
    now = [NOW]
    leaf_certificates = LeafCertificates(ca, lambda: now[0])
    first = leaf_certificates.context_for("a")
    now[0] += 269 * DAY
    assert leaf_certificates.context_for("a") is first
    now[0] += 2 * DAY
    assert leaf_certificates.context_for("a") is not first


# -- the authority of one node


def under(ca, now=NOW):
    made = node_authority(ca, "Atoll tokyo", dns=("amazonaws.com", "localhost"), addresses=("127.0.0.0/8", "10.0.0.1"), now=now)
    return authority_under(ca.path, made)


def verified(ca, tmp_path, identity, purpose="sslserver"):
    """What openssl says of a leaf that is sent with its chain."""
    path = tmp_path / "chain.pem"
    path.write_bytes(identity.certificate)
    command = ["openssl", "verify", "-x509_strict", "-purpose", purpose, "-attime", str(int(NOW)), "-CAfile", str(ca.path),
               "-untrusted", str(path), str(path)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "OK" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("name", ["a.b.s3.amazonaws.com", "localhost", "127.0.0.1", "10.0.0.1"])
def test_a_node_vouches_for_the_names_that_it_serves(ca, tmp_path, name):
    assert verified(ca, tmp_path, issue(under(ca), name, now=NOW)) == "OK"


@pytest.mark.parametrize("name", ["example.com", "amazonaws.com.evil.org", "tokyo.node.atoll.internal", "10.0.0.2"])
def test_nobody_believes_a_node_about_other_names(ca, tmp_path, name):
    assert "permitted subtree violation" in verified(ca, tmp_path, issue(under(ca), name, now=NOW))


def test_a_node_cannot_make_a_certificate_with_which_one_calls_nodes(ca, tmp_path):
    assert verified(ca, tmp_path, issue(under(ca), "a.amazonaws.com", now=NOW, client=True), "sslclient") != "OK"
    assert verified(ca, tmp_path, node_certificate(ca, "tokyo.node.atoll.internal", now=NOW), "sslclient") == "OK"


def test_under_a_node_there_is_no_other_authority(ca):
    with pytest.raises(ValueError, match="made for one machine"):
        under(under(ca))


def test_the_name_of_an_authority_may_be_long(tmp_path):
    assert create_ca(tmp_path, name="Atoll " + "x" * 100, now=NOW).certificate
