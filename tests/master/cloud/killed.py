"""A small fleet at AWS's stand-in, whose owner's commands are killed: real terraform, a module with few resources."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.master.cloud.stand_in import CREDENTIALS, OneAtATime, clean, client, environment
from tests.master.command import ROOT

MODULE: Final = ROOT / "tests" / "terraform" / "small"
CONFIG: Final = """
[fleet]
folder = "{folder}/state"
module = "{folder}/terraform"
region = "us-east-1"
nodes = 1
instance_types = ["c5.large"]

[fleet.variables]
release_file = "{folder}/release.tar"
config_file = "{folder}/head.toml"
"""
UP, DOWN = ("up", "--yes", "--wait", "0"), ("down", "--yes")
COMMANDS: Final = (UP, DOWN, ("scale", "2", "--yes", "--wait", "0"))


class KilledOwner:
    """Runs ``gougi fleet``, and kills some of its commands."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self._environment = clean({**environment(folder, url), **CREDENTIALS, "PYTHONPATH": str(ROOT)})
        shutil.copytree(MODULE, folder / "terraform")
        (folder / "gougi.toml").write_text(CONFIG.format(folder=folder))
        (folder / "release.tar").write_text("a release")
        (folder / "head.toml").touch()
        self.took_s = 10.0
        """Of the last command that was not killed."""

    def fleet(self, *words: str) -> str:
        """Run it to its end; raises AssertionError if it failed."""
        since = time.monotonic()
        said, code = self._end(self._start(words), 300)
        self.took_s = time.monotonic() - since
        assert code == 0, said
        return said

    def killed(self, words: tuple[str, ...], after_s: float, *, terraform_too: bool) -> str:
        """Start it, and kill it after a time: alone, or with its terraform. Returns its output."""
        process = self._start(words)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        children = _below(process.pid) if terraform_too else []
        for pid in (process.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if terraform_too:
            OneAtATime.settle()
        return self._end(process, 60)[0]

    def _start(self, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
        with (self.folder / "output").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "gougi", "fleet", *words],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _end(self, process: subprocess.Popen[bytes], timeout_s: float) -> tuple[str, int]:
        try:
            process.wait(timeout_s)
        finally:
            process.kill()
        return (self.folder / "output").read_text(errors="replace"), process.returncode


def _below(pid: int) -> list[int]:
    """The descendants of this process, the nearest first."""
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found + [below for child in found for below in _below(child)]


def kill_again_and_again(
    owner: KilledOwner, kills: int, seed: int, tell: Callable[[str], None] = lambda _line: None
) -> list[str]:
    """Kill commands at random moments, each followed by one that has to repair the damage. Returns a line for each."""
    rng, lines = random.Random(seed), []
    first = rng.randrange(len(COMMANDS))
    for number in range(kills):
        words = COMMANDS[(first + number) % len(COMMANDS)]
        if words != UP:
            owner.fleet(*UP)  # there has to be a fleet
        after_s, both = rng.uniform(0.5, 1.2) * owner.took_s, rng.random() < 0.5
        owner.killed(words, after_s, terraform_too=both)
        mended = rng.choice((UP, DOWN))
        said = owner.fleet(*mended)
        removed = said.count("removed: ")
        lines.append(
            f"{words[0]} killed after {after_s:.1f} s{', terraform too' * both}: then {mended[0]}"
            f"{', its terraform was waited for' * ('is waited for' in said)}, {removed} things removed"
        )
        tell(lines[-1])
    owner.fleet("down", "--yes", "--state")
    return lines


def left(url: str) -> list[str]:
    """All resources of the stand-in that a new account does not have."""
    ec2, found = client("ec2", url), list[str]()
    found += [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]]
    found += [
        group["GroupId"]
        for group in ec2.describe_security_groups()["SecurityGroups"]
        if group["GroupName"] != "default"
    ]
    found += [each["InternetGatewayId"] for each in ec2.describe_internet_gateways()["InternetGateways"]]
    found += [each["LaunchTemplateId"] for each in ec2.describe_launch_templates()["LaunchTemplates"]]
    states = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
    found += [
        each["InstanceId"]
        for one in ec2.describe_instances(Filters=states)["Reservations"]
        for each in one["Instances"]
    ]
    groups = client("autoscaling", url).describe_auto_scaling_groups()["AutoScalingGroups"]
    found += [each["AutoScalingGroupName"] for each in groups]
    found += [each["Name"] for each in client("s3", url).list_buckets()["Buckets"]]
    found += [
        each["RoleName"] for each in client("iam", url).list_roles()["Roles"] if each["RoleName"].startswith("gougi")
    ]
    found += [each["InstanceProfileName"] for each in client("iam", url).list_instance_profiles()["InstanceProfiles"]]
    found += [each["Name"] for each in client("ssm", url).describe_parameters()["Parameters"]]
    return found
