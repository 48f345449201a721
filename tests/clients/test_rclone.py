"""rclone as it comes."""

import pytest

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]

BUCKET = "walk-us-east-1"
REMOTE = {"RCLONE_CONFIG": "/nonexistent/rclone.conf", "RCLONE_CONFIG_W_TYPE": "s3", "RCLONE_CONFIG_W_PROVIDER": "AWS", "RCLONE_CONFIG_W_ENV_AUTH": "true", "RCLONE_CONFIG_W_REGION": "us-east-1", "RCLONE_RETRIES": "1", "RCLONE_LOW_LEVEL_RETRIES": "1"}
PATH_STYLE = {"RCLONE_CONFIG_W_FORCE_PATH_STYLE": "true"}


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "small.txt").write_text("small")
    (folder / "with spaces & ü.txt").write_text("odd")
    (folder / "large.bin").write_bytes(bytes(range(256)) * 48 * 1024)  # 12 MB: three parts
    return folder


PARTS = ("--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M")


def rclone(world, *arguments, **more):
    return world.ok("rclone", *arguments, **(REMOTE | more))


def test_a_folder_is_copied_checked_and_synchronised(world, files):
    target = f"W:{BUCKET}/rclone"
    rclone(world, "copy", files, target, *PARTS)
    rclone(world, "check", "--download", files, target)
    assert set(rclone(world, "lsf", target).splitlines()) == {path.name for path in files.iterdir()}
    (files / "small.txt").unlink()
    rclone(world, "sync", files, target)
    assert "small.txt" not in rclone(world, "lsf", target)
    assert "large.bin" in rclone(world, "lsf", target)


def test_the_access_point_is_reached_by_its_alias_as_a_bucket(world, files):
    point = REMOTE | PATH_STYLE | {"RCLONE_CONFIG_W_ENDPOINT": "https://accesspoint.s3-global.amazonaws.com"}
    target = f"W:{world.alias}/rclone-point"
    rclone(world, "copy", files, target, "--s3-no-check-bucket", *PARTS, **point)
    rclone(world, "check", files, target, **point)
    assert rclone(world, "cat", f"W:{world.alias}/hello", **point) == "us-east-1"
    rclone(world, "delete", target, **point)


def test_a_bucket_is_made_where_rclone_is_told_to(world):
    rclone(world, "mkdir", "W:walk-rclone")
    rclone(world, "mkdir", "W:walk-rclone")
    rclone(world, "rmdir", "W:walk-rclone")
    assert "walk-rclone" not in rclone(world, "lsd", "W:")


def test_the_ca_of_the_shell_does_not_get_in(world):
    assert rclone(world, "cat", f"W:{BUCKET}/hello", SSL_CERT_FILE="/etc/hostname", AWS_CA_BUNDLE="/etc/hostname") == "us-east-1"


def test_a_plain_endpoint_works_in_path_style(world):
    plain = REMOTE | PATH_STYLE | {"RCLONE_CONFIG_W_ENDPOINT": f"http://127.0.0.1:{world.port()}"}
    assert rclone(world, "cat", f"W:{BUCKET}/hello", **plain) == "us-east-1"
