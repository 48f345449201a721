"""The AWS SDK for JavaScript as it comes: scripts that know nothing of Atoll, under `atoll exec --node`."""

import json

import pytest

from clients.client_fixtures import NODE

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]


def node(world, script, *arguments, **more):
    return json.loads(world.ok("node", NODE / script, *arguments, node=True, **more))


def test_objects_are_put_read_and_listed(world):
    result = node(world, "objects.mjs", "walk-us-east-1", "js/bucket")
    assert result == {"put": 200, "got": "from node", "listed": ["js/bucket"], "missing": "NoSuchKey"}


def test_the_same_through_the_access_point_signed_with_sigv4a(world):
    result = node(world, "objects.mjs", world.arn, "js/point", place="ap-northeast-1")
    assert result == {"put": 200, "got": "from node", "listed": ["js/point"], "missing": "NoSuchKey"}


def test_an_endpoint_setting_does_not_keep_it_from_the_access_point(world):
    assert node(world, "objects.mjs", world.arn, "js/endpoint", "http://127.0.0.1:9")["put"] == 200


def test_access_points_are_made_and_steered(world):
    result = node(world, "points.mjs", world.account, "walk-us-east-1", "walk-eu-central-1")
    assert result["status"] == "READY"
    assert result["dials"] == {"walk-us-east-1": 0, "walk-eu-central-1": 100}


def test_the_ca_of_the_shell_does_not_get_in(world):
    assert node(world, "objects.mjs", "walk-us-east-1", "js/rubbish", NODE_EXTRA_CA_CERTS="/etc/hostname", SSL_CERT_FILE="/etc/hostname")["put"] == 200
