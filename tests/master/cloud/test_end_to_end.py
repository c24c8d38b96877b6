"""`gougi fleet` from nothing to a fleet and back to nothing: real terraform, on AWS's stand-in."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.master.cloud.policy import refused
from tests.master.cloud.stand_in import (
    Machines,
    asked_by_terraform,
    client,
    environment,
    module,
    moto,
    terminate,
    why_not,
)
from tests.master.command import gougi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PASSWORD = "trip-that-stands-nowhere-4711"
TOKEN, TOKEN_PARAMETER = "token-that-stands-nowhere-0815", "/gougi/gougi/ray-token"
GROUP, BUCKET = "gougi-workers", "gougi-123456789012-us-east-1"
STATE = "gougi-state-123456789012-us-east-1"
CONFIG = """
[csa]
server = "wdoor.c.u-tokyo.ac.jp:4081"
name = "gougi"

[fleet]
folder = "{folder}/state"
module = "{module}"
region = "us-east-1"
nodes = 2
instance_types = ["c5.xlarge"]
csa_password_parameter = "/gougi/csa-password"

[fleet.variables]
release_file = "{folder}/release.tar"
head_instance_type = "c5.large"
usd_per_hour = {{"c5.xlarge" = 0.17, "c5.large" = 0.085}}
"""


class Owner:
    """The owner who runs the commands; ``heard`` has all output."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.heard = ""
        self._environment = environment(folder, url)
        (folder / "gougi.toml").write_text(CONFIG.format(folder=folder, module=module(folder)))
        (folder / "release.tar").write_text("a release")

    def fleet(self, *words: str, code: int = 0) -> str:
        done: CompletedProcess[str] = gougi("fleet", *words, cwd=self.folder, env=self._environment, timeout_s=300)
        self.heard += done.stdout + done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@contextmanager
def machines_report(url: str) -> Iterator[None]:
    """The workers report, as soon as there are some."""
    over = threading.Event()
    machines = Machines(url, GROUP, BUCKET, "gougi")

    def run() -> None:
        while not over.wait(0.5):
            machines.report()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_up_scale_status_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if why := why_not():
        pytest.skip(why)
    asked = asked_by_terraform(monkeypatch)
    with moto() as url:
        owner = Owner(tmp_path, url)
        ssm, ec2, s3 = client("ssm", url), client("ec2", url), client("s3", url)
        ssm.put_parameter(Name="/gougi/csa-password", Value=PASSWORD, Type="SecureString")
        vpcs = {vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]}

        with machines_report(url):
            up = owner.fleet("up", "--yes")
            assert "an hour costs 0.45 US dollars" in up
            assert "it ends by itself 12.0 hours after its clock starts" in up
            assert "2 nodes are ready: 2,000,000 nodes/s" in up
        # As the head's first boot does it; terraform must neither see nor replace it.
        ssm.put_parameter(Name=TOKEN_PARAMETER, Value=TOKEN, Type="SecureString", Overwrite=True)
        scaled = owner.fleet("scale", "3", "--yes", "--wait", "0")
        assert "desired_capacity: 2 -> 3" in scaled
        assert "plan: 1 to change\n" in scaled
        kept = ssm.get_parameter(Name=TOKEN_PARAMETER, WithDecryption=True)
        assert kept["Parameter"]["Value"] == TOKEN
        _secrets_stand_nowhere(owner)

        (head,) = (machine["InstanceId"] for machine in _running(url) if _is_head(machine))
        terminate(head)
        with machines_report(url):
            now = json.loads(owner.fleet("status", "--json", code=1).splitlines()[-1])
        assert (now["asked"], now["head"]) == (3, "gone") and now["ready"] >= 2
        assert now["usd_per_hour"] == pytest.approx(3 * 0.17)

        s3.put_object(Bucket=BUCKET, Key="gougi/records/game.csa", Body=b"V3.0")
        assert "nothing is left of the fleet gougi" in owner.fleet("down", "--yes")
        assert (tmp_path / "state" / "bucket" / "records" / "game.csa").read_bytes() == b"V3.0"
        assert {vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]} == vpcs
        assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == [STATE]
        assert "no fleet gougi" in owner.fleet("down", "--yes", "--state")
        assert not s3.list_buckets()["Buckets"]
        named = [{"Key": "Name", "Option": "BeginsWith", "Values": ["/gougi/"]}]
        found = ssm.describe_parameters(ParameterFilters=named)["Parameters"]
        assert [parameter["Name"] for parameter in found] == ["/gougi/csa-password"]
    assert {"ec2:RunInstances", "autoscaling:CreateAutoScalingGroup", "s3:PutObject"} <= asked
    assert refused(asked) == []


def _running(url: str) -> list[dict[str, Any]]:
    running = [{"Name": "instance-state-name", "Values": ["running"]}]
    reservations = client("ec2", url).describe_instances(Filters=running)["Reservations"]
    return [machine for reservation in reservations for machine in reservation["Instances"]]


def _is_head(machine: dict[str, Any]) -> bool:
    return {"Key": "gougi-role", "Value": "head"} in machine["Tags"]


def _secrets_stand_nowhere(owner: Owner) -> None:
    """Neither in the output of the commands, nor in terraform's files, nor in the machines' user data."""
    ec2 = client("ec2", owner.url)
    shown = owner.heard
    for path in (owner.folder / "state").rglob("*"):
        if path.is_file() and ".terraform" not in path.parts:
            shown += path.read_text(errors="replace")
    s3 = client("s3", owner.url)
    for kept in s3.list_objects_v2(Bucket=STATE)["Contents"]:
        shown += s3.get_object(Bucket=STATE, Key=kept["Key"])["Body"].read().decode()
    assert '"serial"' in shown
    for template in ec2.describe_launch_templates()["LaunchTemplates"]:
        versions = ec2.describe_launch_template_versions(LaunchTemplateId=template["LaunchTemplateId"])
        for version in versions["LaunchTemplateVersions"]:
            shown += base64.b64decode(version["LaunchTemplateData"]["UserData"]).decode()
    for reservation in ec2.describe_instances()["Reservations"]:
        for instance in reservation["Instances"]:
            data = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
            shown += base64.b64decode(data["UserData"].get("Value", "")).decode()
    assert "FLEET_PASSWORD_PARAMETER=/gougi/csa-password" in shown
    assert PASSWORD not in shown
    assert TOKEN not in shown
