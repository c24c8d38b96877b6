"""The smallest example on the AWS stand-in: real plan, apply, scale and destroy. What moto lacks: moto/*.tf says it."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.conftest import ROOT, Terraform

boto3 = pytest.importorskip("boto3")
pytest.importorskip("moto.server", reason="moto[server] is not installed: the module is not applied here")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PARALLEL = "-parallelism=30"


@pytest.fixture
def aws(tmp_path: Path) -> Iterator[str]:
    """The stand-in's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "moto.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < until, "moto does not start"
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()


def client(aws: str, service: str) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client(service, endpoint_url=aws, region_name="ap-northeast-1", **keys)


def machines(aws: str) -> list[dict[str, Any]]:
    found = client(aws, "ec2").describe_instances()["Reservations"]
    return [each for group in found for each in group["Instances"] if each["State"]["Name"] == "running"]


def test_a_fleet_is_made_scaled_and_destroyed(terraform: Terraform, aws: str, tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns(".terraform*", "*.tfstate*")
    shutil.copytree(ROOT / "terraform", tmp_path / "terraform", ignore=ignore)
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    overrides = Path(__file__).parent / "moto"
    shutil.copy(overrides / "module_override.tf", tmp_path / "terraform")
    folder = tmp_path / "terraform" / "examples" / "one-node"
    shutil.copy(overrides / "root_override.tf", folder)
    release = tmp_path / "release.tar"
    release.write_bytes(b"a release")
    (folder / "terraform.tfvars.json").write_text(json.dumps({"release_file": str(release)}))
    terraform.env["AWS_ENDPOINT_URL"] = aws
    secret = "5ec2e7" * 10
    ssm = client(aws, "ssm")

    terraform.done(folder, "init", "-input=false", "-no-color")
    terraform.done(folder, "apply", "-auto-approve", "-no-color", PARALLEL)
    fleet = json.loads(terraform.done(folder, "output", "-json", "fleet"))
    assert fleet["nodes"] == 1
    assert len(machines(aws)) == 2
    _is_closed(aws)
    head = next(each for each in machines(aws) if each["InstanceId"] == fleet["head_instance_id"])
    assert head["PrivateIpAddress"] == fleet["head_private_ip"]

    # What the head's first boot does. The next apply must neither read it into the state nor put "unset" in its place.
    token = fleet["parameters"]["ray_token"]
    assert ssm.get_parameter(Name=token, WithDecryption=True)["Parameter"]["Value"] == "unset"
    ssm.put_parameter(Name=token, Value=secret, Type="SecureString", Overwrite=True)

    terraform.done(folder, "apply", "-auto-approve", "-no-color", PARALLEL, "-var", "nodes=3")
    assert len(machines(aws)) == 4
    assert fleet["head_instance_id"] in {each["InstanceId"] for each in machines(aws)}, "scaling replaced the head"
    assert ssm.get_parameter(Name=token, WithDecryption=True)["Parameter"]["Value"] == secret
    written = "".join(path.read_text() for path in folder.glob("terraform.tfstate*"))
    assert token in written
    assert secret not in written
    assert secret not in _user_data(aws, fleet)

    terraform.done(folder, "destroy", "-auto-approve", "-no-color", PARALLEL)
    assert machines(aws) == []
    left = client(aws, "resourcegroupstaggingapi").get_resources(TagFilters=[{"Key": "gougi-fleet"}])
    gone = [each["ResourceARN"] for each in left["ResourceTagMappingList"] if ":instance/" not in each["ResourceARN"]]
    assert gone == []
    assert ssm.get_parameters_by_path(Path="/gougi", Recursive=True)["Parameters"] == []


def _is_closed(aws: str) -> None:
    for group in client(aws, "ec2").describe_security_groups()["SecurityGroups"]:
        if group["GroupName"] != "default":
            open_to = [block["CidrIp"] for rule in group["IpPermissions"] for block in rule["IpRanges"]]
            assert open_to == [], f"{group['GroupName']} lets in {open_to}"


def _user_data(aws: str, fleet: dict[str, Any]) -> str:
    ec2 = client(aws, "ec2")
    head = ec2.describe_instance_attribute(InstanceId=fleet["head_instance_id"], Attribute="userData")
    versions = ec2.describe_launch_template_versions(LaunchTemplateName=f"{fleet['name']}-worker")
    encoded = [head["UserData"]["Value"]]
    encoded += [each["LaunchTemplateData"]["UserData"] for each in versions["LaunchTemplateVersions"]]
    return "".join(base64.b64decode(each).decode() for each in encoded)
