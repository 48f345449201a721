"""A world that spans machines, for tests: each place its own process, folder and bundle, entered by unmodified boto3."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config

from atoll.processes.port_allocation import is_free

ATOLL = [sys.executable, "-m", "atoll"]
REGIONS = {"us-east-1": "[38.9, -77.4]", "eu-central-1": "[50.1, 8.7]"}
LONDON = "[51.5, -0.1]"


def apart():
    """Free ports where no other world of a test run looks: those take the lowest free block from 20000 on."""
    first = 26000 + os.getpid() % 300 * 16
    return (port for port in range(first, first + 1000) if is_free(port))


def world_text(state="us-east-1"):
    """Two regions, and a city that is nearer to the second."""
    ports = apart()
    rows = [f'state = "{state}"\n']
    for name, at in REGIONS.items():
        listeners = f'address = "127.0.0.1:{next(ports)}"\nnode = "127.0.0.1:{next(ports)}"'
        rows.append(f'[places.{name}]\nkind = "region"\nat = {at}\n{listeners}\n')
    rows.append(f'[places.london]\nkind = "city"\nat = {LONDON}\naddress = "127.0.0.1:{next(ports)}"\n')
    return "".join(rows)


class Machines:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = folder / "world.toml"
        self.world.write_text(world_text())
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._settings: dict[str, dict[str, str]] = {}

    def atoll(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*ATOLL, *arguments], capture_output=True, text=True, timeout=60)

    def data(self, place: str) -> Path:
        return self.folder / place

    def equip(self, *places: str) -> None:
        """Bundles for all, made where the CA is, and brought to each."""
        for place in places:
            out = () if place == "us-east-1" else ("--out", str(self.data(place) / "node"))
            made = self.atoll("node-key", place, "--world", str(self.world), "--home", str(self.data("us-east-1")), *out)
            assert made.returncode == 0, made.stderr

    def start(self, place: str) -> None:
        """Returns when it answers."""
        with open(self.folder / f"{place}.err", "a") as errors:
            command = [*ATOLL, "serve", "--place", place, "--world", str(self.world), "--data", str(self.data(place))]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.running[place] = child
        text = child.stdout.readline()
        assert f"{place} serves" in text, (self.folder / f"{place}.err").read_text()

    def stop(self, place: str, *, kill: bool = False) -> int:
        child = self.running.pop(place)
        child.kill() if kill else child.terminate()
        child.stdout.close()
        return child.wait(timeout=30)

    def settings(self, place: str) -> dict[str, str]:
        """What `atoll env` says on the machine of a place; it stays as long as the world does."""
        if place not in self._settings:
            self._settings[place] = json.loads(self.atoll("env", "--home", str(self.data(place)), "--json").stdout)
        return self._settings[place]

    def account(self) -> str:
        return json.loads((self.data("us-east-1") / "run.json").read_text())["account"]

    def client(self, service: str, place: str, region: str | None = None, *, endpoint: bool = False, tries: int = 1):
        found = self.settings(place)
        way = {"endpoint_url": found["HTTPS_PROXY"]} if endpoint else {}
        proxies = {} if endpoint else {"https": found["HTTPS_PROXY"]}
        return boto3.client(
            service,
            region_name=region or found["AWS_REGION"],
            aws_access_key_id=found["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=found["AWS_SECRET_ACCESS_KEY"],
            verify=found["AWS_CA_BUNDLE"],
            config=Config(proxies=proxies, retries={"total_max_attempts": tries}),
            **way,
        )


@contextmanager
def machines(folder: Path, *places: str):
    folder.mkdir(parents=True, exist_ok=True)
    world = Machines(folder)
    world.equip(*places)
    try:
        for place in places:
            world.start(place)
        yield world
    finally:
        for place in tuple(world.running):
            world.stop(place, kill=True)
