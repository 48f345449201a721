"""A name server that knows AWS's names and no others."""

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.rules import dns
from atoll.rules.dns import is_aws
from atoll.rules.endpoint_hostnames import AWS_NAME

ADDRESS = socket.inet_aton("127.0.0.1")
A, AAAA, ANY, HTTPS = 1, 28, 255, 65


def query(name, kind=A, number=7, flags=0x0100, extra=b"", questions=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">HHHHHH", number, flags, questions, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1) + extra


def result(response):
    number, flags, questions, answers, *_ = struct.unpack_from(">HHHHHH", response)
    return number, flags & 15, questions, answers


@pytest.mark.parametrize("name", ["s3.us-east-1.amazonaws.com", "mabc.mrap.accesspoint.s3-global.amazonaws.com", "S3.AmazonAWS.com", "any-bucket.s3.eu-west-9.amazonaws.com", "s3.cn-north-1.amazonaws.com.cn", "d1.cloudfront.net", "s3.us-east-1.api.aws"])
def test_every_name_of_aws_has_the_one_address(name):
    response = dns.response(query(name), ADDRESS)
    assert result(response) == (7, 0, 1, 1)
    assert response.endswith(b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 60, 4) + ADDRESS)
    assert AWS_NAME.fullmatch(name.lower())


@pytest.mark.parametrize("name", ["example.com", "amazonaws.com.evil.example", "notamazonaws.com", "com", "169.254.169.254", "metadata.google.internal"])
def test_every_other_name_does_not_exist(name):
    assert result(dns.response(query(name), ADDRESS)) == (7, 3, 1, 0)


@pytest.mark.parametrize("kind", [AAAA, HTTPS])
def test_a_name_of_aws_has_no_other_kind_of_address_but_it_exists(kind):
    assert result(dns.response(query("s3.us-east-1.amazonaws.com", kind), ADDRESS)) == (7, 0, 1, 0)


def test_whatever_it_has_is_told_to_who_asks_for_anything():
    assert result(dns.response(query("s3.us-east-1.amazonaws.com", ANY), ADDRESS)) == (7, 0, 1, 1)


def test_options_behind_the_question_are_not_answered_and_do_no_harm():
    edns = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
    assert result(dns.response(query("s3.us-east-1.amazonaws.com", extra=edns), ADDRESS)) == (7, 0, 1, 1)


def test_what_asks_for_no_address_is_not_implemented():
    assert result(dns.response(query("s3.us-east-1.amazonaws.com", flags=0x2800), ADDRESS))[1] == 4


@pytest.mark.parametrize("data", [b"", b"\0" * 11, query("a.b", flags=0x8000), query("a.b")[:-3], query("a.b", questions=2), b"\0" * 12 + b"\xc0\x0c\0\1\0\1"])
def test_what_is_no_query_gets_no_answer(data):
    assert dns.response(data, ADDRESS) is None


@given(st.binary(max_size=200))
def test_no_datagram_breaks_it(data):
    response = dns.response(data, ADDRESS)
    assert response is None or response[:2] == data[:2]


def test_a_trailing_dot_names_the_same():
    assert is_aws("s3.amazonaws.com.")
