"""AWS's stand-in (moto) with real terraform, and fake machines that only report."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread
from typing import Any, ClassVar, Final

import boto3
import pytest
from moto.core.authorization import ActionAuthenticatorMixin
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from master.cloud.reports import MachineReport, key
from tests.master.command import ROOT
from tests.terraform import provider

PLUGINS = Path("/opt/tf-plugins")
REGION = "us-east-1"
ACCOUNT = "123456789012"
_SETTLED_S: Final = 0.5
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}


def why_not() -> str:
    """The reason why real terraform cannot run here; empty: it can."""
    if shutil.which("terraform") is None:
        return "terraform is not on the PATH"
    mirrored = any(PLUGINS.glob("*/hashicorp/aws"))
    return "" if mirrored else f"no mirror of terraform's AWS provider in {PLUGINS}"


class OneAtATime:
    """Moto answers one request at a time. Two at once can fail ("dictionary changed size during iteration") after they
    took effect; terraform then repeats the request, and is told that the resource exists."""

    _asked: ClassVar[set[object]] = set()

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        request = object()
        self._asked.add(request)
        try:
            with self._lock:
                return list(self._app(environ, start_response))
        finally:
            self._asked.discard(request)

    @classmethod
    def settle(cls) -> None:
        """Wait until no request has been open for half a second: a process that was killed may have sent some.

        AWS handles them at once. Moto, on a busy machine, may handle them after those of the next process; asked twice
        for a group of machines, it makes it twice, and forgets the first one's machines.
        """
        since = time.monotonic()
        while time.monotonic() - since < _SETTLED_S:
            time.sleep(0.01)
            if cls._asked:
                since = time.monotonic()


@contextmanager
def moto() -> Iterator[str]:
    """A separate server; its URL."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # else a line for each of a thousand requests
    knows_placement_groups()
    server = make_server("127.0.0.1", 0, OneAtATime(), threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        client("ec2", url).describe_instances()  # the first call takes moto longer than gougi waits
        yield url
    finally:
        server.shutdown()
        thread.join()


def environment(folder: Path, url: str) -> dict[str, str]:
    """For terraform and gougi: the stand-in instead of AWS, the mirror instead of the registry."""
    rc = folder / "terraform.rc"
    rc.write_text(provider.settings(PLUGINS))
    return {
        **CREDENTIALS,
        **provider.UNHURRIED,
        "AWS_ENDPOINT_URL": url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
        "TF_CLI_CONFIG_FILE": str(rc),
    }


def module(folder: Path) -> Path:
    """A copy of the terraform module, without the parts that moto does not have; deploy/ is beside it, as in the
    checkout."""
    for name in ("terraform", "deploy"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
    shutil.copy(ROOT / "tests" / "terraform" / "moto" / "module_override.tf", folder / "terraform")
    return folder / "terraform"


def client(service: str, url: str) -> Any:
    return boto3.client(
        service,
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


def terminate(instance: str) -> None:
    """End an instance of moto in this process. Its address is free again, as at AWS; moto alone would keep it."""
    backend = ec2_backends[ACCOUNT][REGION]
    (machine,) = backend.get_multi_instances_by_id([instance])
    backend.terminate_instances([instance])
    backend.get_subnet(machine.subnet_id).del_subnet_ip(machine.private_ip)


def knows_placement_groups() -> None:
    """Make moto in this process, which knows no placement groups, answer that there are none."""
    if not hasattr(EC2Response, "describe_placement_groups"):
        answer = "<Response><placementGroupSet/></Response>"
        EC2Response.describe_placement_groups = lambda _self: answer


def placement_groups(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Give moto in this process an answer about placement groups."""
    items = "".join(f"<item><groupName>{name}</groupName><state>available</state></item>" for name in names)
    answer = f"<Response><placementGroupSet>{items}</placementGroupSet></Response>"
    monkeypatch.setattr(EC2Response, "describe_placement_groups", lambda _self: answer, raising=False)


def asked_by_terraform(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Collects terraform's requests to moto in this process from now on, by the names of IAM's rights."""
    asked = set[str]()
    known = ActionAuthenticatorMixin._authenticate_and_authorize_action

    def look(self: Any, request: type, resource: str = "*") -> None:
        if "terraform" in self.headers.get("User-Agent", "").lower():
            service = self.headers["Authorization"].split("Credential=")[1].split("/")[3]
            action = self.data.get("Action") if service == "s3" else self._get_action()
            service = "cloudwatch" if service == "monitoring" else service
            asked.add(_RIGHTS.get(f"{service}:{action}", f"{service}:{action}"))
        known(self, request, resource)

    monkeypatch.setattr(ActionAuthenticatorMixin, "_authenticate_and_authorize_action", look)
    return asked


_RIGHTS: Final = {
    "s3:HeadBucket": "s3:ListBucket",
    "s3:PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:DeletePublicAccessBlock": "s3:PutBucketPublicAccessBlock",
}
"""Permissions by AWS's names, if moto has other names."""


class Machines:
    """The reports of workers that do not exist: to be sent again and again, as real workers do."""

    def __init__(self, url: str, group: str, bucket: str, fleet: str) -> None:
        self._autoscaling = client("autoscaling", url)
        self._s3 = client("s3", url)
        self._group = group
        self._bucket = bucket
        self._fleet = fleet

    def report(self) -> None:
        groups = self._autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[self._group])
        for group in groups["AutoScalingGroups"]:
            for number, instance in enumerate(group["Instances"], 1):
                said = MachineReport(instance["InstanceId"], time.time(), "ready", (f"node-{number}",), 1_000_000)
                self._s3.put_object(Bucket=self._bucket, Key=f"{self._fleet}/{key(said.machine)}", Body=said.encode())


def clean(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without AWS's variables, and with these."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("AWS_")}, **extra}
