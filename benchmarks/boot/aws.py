"""AWS for machines that are booted here: moto with TLS and AWS's own names, and each machine's metadata service.

In a separate network (``unshare --net``): the addresses are those of the fleet's VPC and of EC2.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from tests.cluster.metadata_service import MetadataService
from tests.master.cloud.stand_in import REGION, client, knows_placement_groups

METADATA = "169.254.169.254"
GATEWAY = "10.81.255.254"
"""This side of the switch, an address of terraform's default ``vpc_cidr``: AWS's services, and the game server."""
BUCKET = f"gougi-123456789012-{REGION}"
SERVICES = ("s3", "ssm", "ec2", "autoscaling", "sts")
NAMES = (*(f"{name}.{REGION}.amazonaws.com" for name in (*SERVICES, f"{BUCKET}.s3")), f"{BUCKET}.s3.amazonaws.com")
"""For a bucket in us-east-1, boto3 uses S3's old name without a region."""


@dataclass(frozen=True)
class Instance:
    """An EC2 instance, as created by AWS's stand-in at terraform's request."""

    id: str
    role: str
    address: str
    profile: str
    user_data: str

    @property
    def hostname(self) -> str:
        """The name that EC2 gives it."""
        return f"ip-{self.address.replace('.', '-')}"


class Aws:
    """``close`` it. ``url`` is for terraform and `gougi fleet`, on the owner's side."""

    def __init__(self, folder: Path) -> None:
        for words in (
            "link set lo up",
            "link add name fleet type bridge",
            f"addr add {GATEWAY}/16 dev fleet",
            f"addr add {METADATA}/32 dev fleet",
            "link set fleet up",
        ):
            subprocess.run(["ip", *words.split()], check=True)
        self.certificate, key = folder / "aws.pem", folder / "aws.key"
        names = ",".join(f"DNS:{name}" for name in NAMES)
        words = f"req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=aws -keyout {key} -out {self.certificate}"
        subprocess.run(
            ["openssl", *words.split(), "-addext", f"subjectAltName={names}"], check=True, capture_output=True
        )
        knows_placement_groups()
        app: Any = DomainDispatcherApplication(create_backend_app)
        self._servers = [
            make_server("127.0.0.1", 0, app, threaded=True),
            make_server(GATEWAY, 443, app, threaded=True, ssl_context=(str(self.certificate), str(key))),
        ]
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._servers[0].server_port}"
        client("ec2", self.url).describe_instances()  # the first call takes moto longer than gougi waits
        self.metadata = MetadataService(METADATA, 80)

    def instances(self) -> list[Instance]:
        """The running instances; from now on their metadata can be read."""
        ec2 = client("ec2", self.url)
        running = [{"Name": "instance-state-name", "Values": ["running"]}]
        found = []
        for reservation in ec2.describe_instances(Filters=running)["Reservations"]:
            for raw in reservation["Instances"]:
                (role,) = (tag["Value"] for tag in raw["Tags"] if tag["Key"] == "gougi-role")
                # moto gives a group's instances neither the profile nor the user data of their template.
                if role == "head":
                    profile = str(raw["IamInstanceProfile"]["Arn"]).rpartition("/")[2]
                    data = ec2.describe_instance_attribute(InstanceId=raw["InstanceId"], Attribute="userData")
                    text = data["UserData"]["Value"]
                else:
                    (template,) = ec2.describe_launch_template_versions(
                        LaunchTemplateName="gougi-worker", Versions=["$Latest"]
                    )["LaunchTemplateVersions"]
                    profile = template["LaunchTemplateData"]["IamInstanceProfile"]["Name"]
                    text = template["LaunchTemplateData"]["UserData"]
                found.append(
                    Instance(raw["InstanceId"], role, raw["PrivateIpAddress"], profile, base64.b64decode(text).decode())
                )
        for instance in found:
            if instance.address not in self.metadata.machines:
                self.metadata.machines[instance.address] = self._metadata_of(instance)
        return found

    def notice(self, instance: Instance) -> None:
        """Announce a spot interruption, two minutes ahead."""
        when = (datetime.now(UTC) + timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = json.dumps({"action": "terminate", "time": when})
        self.metadata.machines[instance.address]["meta-data/spot/instance-action"] = said

    def close(self) -> None:
        self.metadata.close()
        for server in self._servers:
            server.shutdown()

    def _metadata_of(self, instance: Instance) -> dict[str, str]:
        iam = client("iam", self.url)
        profile = iam.get_instance_profile(InstanceProfileName=instance.profile)["InstanceProfile"]
        role = profile["Roles"][0]
        given = client("sts", self.url).assume_role(RoleArn=role["Arn"], RoleSessionName=instance.id)["Credentials"]
        credentials = {
            "Code": "Success",
            "LastUpdated": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "Type": "AWS-HMAC",
            "AccessKeyId": given["AccessKeyId"],
            "SecretAccessKey": given["SecretAccessKey"],
            "Token": given["SessionToken"],
            "Expiration": (datetime.now(UTC) + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return {
            "meta-data/instance-id": instance.id,
            "meta-data/placement/region": REGION,
            "meta-data/iam/info": json.dumps({"Code": "Success", "InstanceProfileArn": profile["Arn"]}),
            f"meta-data/iam/security-credentials/{role['RoleName']}": json.dumps(credentials),
            "meta-data/autoscaling/target-lifecycle-state": "InService",
        }
