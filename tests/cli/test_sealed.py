"""`atoll exec --mode sealed`: the place is reached by AWS's names, and nothing else is reached at all."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("cli")

AT_ONCE_S = 3.0  # a refusal; a client that waits for somebody needs its time-outs, ten seconds and more
WITHOUT_RIGHTS = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
CALL = """
import errno, json, socket, sys, time
begun = time.monotonic()
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
    word = "connected"
except socket.gaierror as error:
    word = "no such name" if error.errno == socket.EAI_NONAME else str(error)
except OSError as error:
    word = errno.errorcode[error.errno]
print(json.dumps([word, time.monotonic() - begun]))
"""


def sealed(world, *command, **more):
    return world("exec", "--from", "london", "--mode", "sealed", "--", *command, **more)


def call(world, host, port=443):
    done = sealed(world, "python3", "-c", CALL, host, port)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def relays(world):
    """The relays of this world's commands, by their log, which each of them holds open."""
    log = str(world.home / "logs" / "sealed.err")
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{process}/fd/2") == log:
                found.append(int(process))
        except OSError:
            continue
    return found


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_command_keeps_its_streams_and_its_exit_status(world):
    done = sealed(world, "sh", "-c", "cat; echo no >&2; exit 7", stdin="words")
    assert (done.returncode, done.stdout, done.stderr) == (7, "words", "no\n")


def test_a_signal_reaches_the_command_itself(world):
    begun = world.begin("exec", "--mode", "sealed", "--", "sh", "-c", "trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    assert begun.stdout.readline() == "ready\n"
    begun.send_signal(signal.SIGTERM)
    assert begun.communicate(timeout=10)[0] == "told\n"
    assert begun.returncode == 5
    assert sealed(world, "sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["s3.us-east-1.amazonaws.com", "any.bucket.s3.us-east-1.amazonaws.com", "x.mrap.accesspoint.s3-global.amazonaws.com"])
@pytest.mark.parametrize("port", [443, 80])
def test_names_of_aws_are_here(world, name, port):
    assert call(world, name, port)[0] == "connected"


@pytest.mark.parametrize("name", ["example.com", "pypi.org", "dynamodb.example", "metadata.google.internal"])
def test_a_name_outside_of_the_world_fails_at_once(world, name):
    word, seconds = call(world, name)
    assert word == "no such name"
    assert seconds < AT_ONCE_S


@pytest.mark.parametrize("address", ["1.1.1.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "2606:4700:4700::1111"])
def test_an_address_is_unreachable_at_once(world, address):
    word, seconds = call(world, address)
    assert word in ("ENETUNREACH", "EADDRNOTAVAIL")
    assert seconds < AT_ONCE_S


def test_what_else_listens_on_this_machine_is_not_reached(world):
    with socket.create_server(("127.0.0.1", 0)) as door:
        assert call(world, "127.0.0.1", door.getsockname()[1])[0] == "ECONNREFUSED"
        assert call(world, "localhost", door.getsockname()[1])[0] == "ECONNREFUSED"


def test_a_name_of_aws_that_is_not_of_this_world_says_so(world):
    done = sealed(world, "curl", "-sS", "https://dynamodb.us-east-1.amazonaws.com/")
    assert "dynamodb.us-east-1.amazonaws.com is not a name of this world" in done.stdout


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_client_that_reads_no_variable_trusts_what_it_meets(world, scheme):
    done = sealed(world, "env", "-i", "curl", "-sS", "-w", "%{http_code}", f"{scheme}://s3.us-east-1.amazonaws.com/")
    assert done.stdout.endswith("403"), done.stderr
    assert "<Code>AccessDenied</Code>" in done.stdout


def test_signed_calls_of_the_cli_work_with_nothing_set_but_keys(world):
    done = sealed(world, "aws", "sts", "get-caller-identity", "--query", "Account", "--output", "text")
    assert done.stdout.strip() == json.loads((world.home / "run.json").read_text())["account"]


def test_megabytes_go_both_ways_whole(world):
    program = """
aws s3 mb s3://sealed-bytes >/dev/null
head -c 30000000 /dev/urandom > big
aws s3 cp --quiet big s3://sealed-bytes/big && aws s3 cp --quiet s3://sealed-bytes/big back && cmp big back && echo same
aws s3 rb --force s3://sealed-bytes >/dev/null
"""
    done = sealed(world, "sh", "-c", program)
    assert done.stdout == "same\n", done.stderr


def test_variables_lead_to_no_proxy_and_to_what_is_trusted_here(world):
    astray = {"HTTPS_PROXY": "http://x", "http_proxy": "http://x", "NO_PROXY": "*", "AWS_ENDPOINT_URL_S3": "http://x", "AWS_CA_BUNDLE": "/x", "REQUESTS_CA_BUNDLE": "/x", "SSL_CERT_DIR": "/x", "AWS_PROFILE": "work", "KEPT": "1"}
    done = sealed(world, "env", **astray)
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    bundle = str(world.home / "sealed" / "ca-bundle.pem")
    assert {found[name] for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")} == {bundle}
    assert found["NODE_EXTRA_CA_CERTS"] == str(world.home / "ca.pem")
    assert found["KEPT"] == "1"
    assert not found.keys() & {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "SSL_CERT_DIR", "AWS_PROFILE"}
    assert (world.home / "ca.pem").read_text() in Path(bundle).read_text()


def test_the_files_of_the_machine_are_as_they_were(world):
    files = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs/ca-certificates.crt")
    before = [Path(name).read_bytes() for name in files if Path(name).exists()]
    assert sealed(world, "cat", "/etc/resolv.conf").stdout.startswith("nameserver 127.0.0.1\n")
    assert [Path(name).read_bytes() for name in files if Path(name).exists()] == before


def test_users_and_groups_come_from_where_they_did(world):
    before = [line for line in Path("/etc/nsswitch.conf").read_text().splitlines() if not line.startswith("hosts:")]
    assert sealed(world, "cat", "/etc/nsswitch.conf").stdout.splitlines() == [*before, "hosts: files dns"]


def test_without_the_right_to_namespaces_it_takes_a_user_namespace_and_everyone_stays_who_he_is(world):
    done = subprocess.run([*WITHOUT_RIGHTS, "atoll", "exec", "--mode", "sealed", "--", "sh", "-c", "id -u; id -g; curl -s -o /dev/null -w '%{http_code}' https://s3.us-east-1.amazonaws.com/"], env=world.env, capture_output=True, text=True, timeout=40)
    assert done.stdout.split() == [str(os.geteuid()), str(os.getegid()), "403"], done.stderr


def test_where_there_are_no_namespaces_it_says_what_helps(world):
    forbidding = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {' '.join(WITHOUT_RIGHTS)} atoll exec --mode sealed -- echo ran"
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", forbidding], env=world.env, capture_output=True, text=True, timeout=40)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("atoll: sealed mode needs network and mount namespaces: ")
    assert "Run it as root" in done.stderr
    assert "Errno" not in done.stderr
    until(lambda: not relays(world))


def test_several_at_once_do_not_know_of_each_other(world):
    begun = [world.begin("exec", "--mode", "sealed", "--", "sh", "-c", "curl -s -o /dev/null -w '%{http_code}' https://s3.us-east-1.amazonaws.com/; sleep 0.5") for _ in range(4)]
    assert [one.communicate(timeout=30)[0] for one in begun] == ["403"] * 4


def test_the_command_has_no_child_that_it_did_not_begin(world):
    program = "import os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('none')"
    assert sealed(world, "python3", "-c", program).stdout == "none\n"


def test_the_relay_goes_when_the_last_process_of_the_command_has_gone(world):
    program = "(sleep 2; curl -s -o /dev/null -w '%{http_code}' https://s3.us-east-1.amazonaws.com/ > later) >/dev/null 2>&1 & echo first"
    assert sealed(world, "sh", "-c", program).stdout == "first\n"
    assert len(relays(world)) == 1
    until(lambda: not relays(world))
    assert (world.folder / "later").read_text() == "403"


def test_without_its_relay_a_command_reaches_nothing(world):
    program = "import os, socket, sys, time\nprint(os.getpid(), flush=True); sys.stdin.readline()\ntry:\n    socket.create_connection(('s3.us-east-1.amazonaws.com', 443), 5)\nexcept OSError as error:\n    print('nothing')"
    begun = subprocess.Popen(["atoll", "exec", "--mode", "sealed", "--", "python3", "-c", program], env=world.env, cwd=world.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    begun.stdout.readline()
    for process in relays(world):
        os.kill(process, signal.SIGKILL)
    until(lambda: not relays(world))
    assert begun.communicate("\n", timeout=30)[0] == "nothing\n"


def test_a_world_that_is_down_is_said_before_anything_runs(shell):
    shell.up()
    shell("down")
    done = sealed(shell, "echo", "ran")
    assert (done.returncode, done.stdout) == (69, "")
    assert "the entry of london does not answer" in done.stderr


def test_it_is_a_way_for_one_command_and_not_for_a_shell(world):
    done = world("env", "--mode", "sealed")
    assert (done.returncode, done.stderr) == (64, "atoll: --mode sealed: expected proxy or endpoint\n")


def test_a_pipe_that_closes_ends_a_command_quietly_as_in_any_shell(world):
    done = world("exec", "--", "sh", "-c", "(yes; echo $? >&2) | head -1")
    assert (done.stdout, done.stderr) == ("y\n", "141\n")
