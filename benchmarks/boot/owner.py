"""The owner of the fleet: runs `gougi fleet`, looks into the bucket, and has an opponent and a server for a game."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.boot.aws import BUCKET, GATEWAY
from tests.master.cloud.stand_in import client, environment, module

TRIP = "trip-that-stands-nowhere-4711"
GAME = "test-20-2F"
CONFIG = """
[csa]
server = "{server}:4081"
game = "{game}"
name = "gougi"
games = 1

[fleet]
folder = "{folder}/state"
module = "{module}"
region = "us-east-1"
nodes = 1
instance_types = ["c5.large"]
csa_password_parameter = "/gougi/csa-password"

[fleet.variables]
release_file = "{release}"
head_instance_type = "c5.large"
usd_per_hour = {{"c5.large" = 0.085}}
"""


class Owner:
    """``close`` it.

    Args:
        folder: for the configuration, terraform's state and the output of the commands.
        release: the release that the machines install.
        url: of AWS's stand-in.
    """

    def __init__(self, folder: Path, release: Path, url: str) -> None:
        self.folder = folder
        self._url = url
        self._services: list[subprocess.Popen[bytes]] = []
        settings = CONFIG.format(
            server=GATEWAY, game=GAME, folder=folder, module=module(folder), release=release.absolute()
        )
        (folder / "gougi.toml").write_text(settings)
        (folder / "elsewhere").mkdir()  # has no gougi.toml
        made = {"Name": "/gougi/csa-password", "Value": TRIP, "Type": "SecureString"}
        client("ssm", url).put_parameter(**made)

    def fleet(self, *words: str) -> str:
        """Run ``gougi fleet WORDS`` and return its output. Raises AssertionError if it failed."""
        done = subprocess.run(
            [sys.executable, "-m", "gougi", "fleet", *words],
            cwd=self.folder,
            env={**os.environ, **environment(self.folder, self._url)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        with (self.folder / "owner.log").open("a") as log:
            log.write(done.stdout + done.stderr)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def status(self) -> dict[str, Any]:
        """`gougi fleet status`."""
        found: dict[str, Any] = json.loads(self.fleet("status", "--json").splitlines()[-1])
        return found

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start ``gougi WORDS``, which runs until it is closed here; its output is in a file of its name."""
        settings = {"GOUGI_CSA_PASSWORD": "x", "GOUGI_PLAY_PONDER": "false"}
        with (self.folder / f"{words[0]}.log").open("wb") as log:
            started = subprocess.Popen(
                [sys.executable, "-m", "gougi", *words],
                cwd=self.folder / "elsewhere",
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._services.append(started)
        return started

    def in_bucket(self, prefix: str) -> list[str]:
        """The keys in the fleet's folder of the bucket with this prefix."""
        found = client("s3", self._url).list_objects_v2(Bucket=BUCKET, Prefix=f"gougi/{prefix}")
        return [each["Key"] for each in found.get("Contents", ())]

    def close(self) -> None:
        for service in self._services:
            service.kill()
            service.wait(10)
