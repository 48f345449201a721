"""One world for all clients, and real clients run in it as processes of their own."""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

VENV = Path(sys.executable).parent
NODE = Path(__file__).parent / "node"
PATIENCE_S = 60

# A client that is absent is a failure, not a skip.
PROGRAMS = ("atoll", "aws", "rclone", "node", "curl")


def bare_environment(home):
    """What a fresh shell has, and nothing of whoever runs the tests."""
    return {"PATH": f"{VENV}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "ATOLL_HOME": str(home / "world"), "AWS_MAX_ATTEMPTS": "1", "AWS_PAGER": ""}


class World:
    """A world that runs, and how to stand in one of its places."""

    def __init__(self, folder):
        self.folder = folder
        self.env = bare_environment(folder)

    def atoll(self, *arguments, timeout=PATIENCE_S, **settings):
        return subprocess.run(["atoll", *map(str, arguments)], env=self.env | settings, capture_output=True, text=True, timeout=timeout)

    def run(self, *command, place="us-east-1", node=False, mode="proxy", account=None, cwd=None, stdin=None, timeout=PATIENCE_S, **settings):
        """A client in a place. `settings` are further variables of the shell that `atoll exec` starts from."""
        more = [*(["--node"] if node else []), "--mode", mode, *(["--account", account] if account else [])]
        argv = ["atoll", "exec", "--from", place, *more, "--", *map(str, command)]
        return subprocess.run(argv, env=self.env | settings, cwd=cwd or self.folder, input=stdin, capture_output=True, text=True, timeout=timeout)

    def ok(self, *command, **more):
        """Its output; a client that fails fails the test with its own words."""
        done = self.run(*command, **more)
        assert done.returncode == 0, f"{command[:3]} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def refused(self, *command, **more):
        """What it says when it does not get what it wants."""
        done = self.run(*command, **more)
        assert done.returncode != 0, f"{command[:3]} was allowed\n{done.stdout}"
        return done.stdout + done.stderr

    def boto3(self, code, *arguments, **more):
        """A boto3 program: `s3` is a client as it comes; what it prints is JSON."""
        return json.loads(self.ok("python", "-c", PRELUDE + textwrap.dedent(code), *arguments, **more))

    def run_info(self):
        return json.loads((self.folder / "world" / "run.json").read_text())

    def port(self, place="us-east-1"):
        return next(row["port"] for row in self.run_info()["places"] if row["name"] == place)

    def status(self):
        return {row["name"]: row for row in json.loads(self.atoll("status", "--json").stdout)["places"]}

    @property
    def ca(self):
        return self.folder / "world" / "ca.pem"


PRELUDE = """
import json, os, sys
import boto3, botocore
from botocore.config import Config
from botocore.exceptions import ClientError
argv, say = sys.argv[1:], lambda told: print(json.dumps(told))
def code(call, **given):
    try:
        return call(**given)["ResponseMetadata"]["HTTPStatusCode"]
    except ClientError as refusal:
        return refusal.response["Error"]["Code"]
s3 = boto3.client("s3")
"""

ARRANGE = """
    import time
    account = boto3.client("sts").get_caller_identity()["Account"]
    for region in ("us-east-1", "ap-northeast-1", "eu-central-1"):
        there = boto3.client("s3", region_name=region)
        there.create_bucket(Bucket=f"walk-{region}", **({} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}))
        there.put_object(Bucket=f"walk-{region}", Key="hello", Body=region.encode())
    control = boto3.client("s3control", region_name="us-west-2")
    members = [{"Bucket": "walk-us-east-1"}, {"Bucket": "walk-ap-northeast-1"}]
    control.create_multi_region_access_point(AccountId=account, ClientToken="walk", Details={"Name": "walk", "Regions": members})
    end = time.time() + 20
    while (point := control.get_multi_region_access_point(AccountId=account, Name="walk")["AccessPoint"])["Status"] != "READY":
        assert time.time() < end, point
        time.sleep(0.05)
    say({"account": account, "alias": point["Alias"], "arn": f"arn:aws:s3::{account}:accesspoint/{point['Alias']}"})
"""


def begin(folder):
    """A world with three buckets and an access point over two of them."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=bare_environment(folder)["PATH"]) is None]
    assert not missing, f"these clients are not installed: {', '.join(missing)}; make setup"
    assert (NODE / "node_modules").is_dir(), "the AWS SDK for JavaScript is not installed; make setup"
    world = World(folder)
    up = world.atoll("up", "--detach")
    assert up.returncode == 0, up.stdout + up.stderr
    try:
        for name, value in world.boto3(ARRANGE).items():
            setattr(world, name, value)
    except BaseException:
        world.atoll("down")
        raise
    return world


class Relay:
    """A proxy in front of the proxy that counts the tunnels which are asked for."""

    def __init__(self, port):
        self.tunnels, self._port, self._open = [], port, True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open = False
        self._listener.close()

    def _accept(self):
        while self._open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            first, pairs = True, {client: server, server: client}
            while True:
                for received in select.select(list(pairs), [], [])[0]:
                    piece = received.recv(65536)
                    if not piece:
                        return
                    if first:
                        self.tunnels.append(piece.split(b"\r\n", 1)[0].decode())
                        first = False
                    pairs[received].sendall(piece)


class Resident:
    """How much memory processes take at most while this is watched."""

    def __init__(self, pids):
        self._pids, self._done = pids, threading.Event()
        self.before = {pid: _rss(pid) for pid in pids}
        self.peak = dict(self.before)
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def _watch(self):
        while not self._done.wait(0.01):
            for pid in self._pids:
                self.peak[pid] = max(self.peak[pid], _rss(pid))

    @property
    def growth_mb(self):
        return {pid: (self.peak[pid] - self.before[pid]) / 1e6 for pid in self._pids}


def _rss(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def until(condition, patience_s=20):
    """Wait for another process."""
    end = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)
    return found
