"""The table of what terraform, units, scripts, docs and code of a fleet's machines have to agree on. Pure data.

What code needs of it stands in `master.cloud.agreed`; terraform, systemd, bash and the docs are held against the whole,
file by file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from master.cloud.agreed import BUDGET, ENDPOINTS, HOOK, RELEASED, ROLES, TAG

__all__ = ["BUDGET", "ENDPOINTS", "HOOK", "RELEASED", "ROLES", "TAG"]

# --- Exit codes ------------------------------------------------------------------------------------------------------

BAD_INPUT: Final = 2
"""Exit code of every command: the fault does not go away by itself."""
INTERRUPTED: Final = 130
"""Exit code of every command after Ctrl-C or SIGTERM."""
RAY_STOPPED: Final = 1
"""Exit code of ``ray start --block`` after SIGTERM (``sigterm_handler`` in its node.py; seen in `benchmarks.boot`)."""

# --- Names -----------------------------------------------------------------------------------------------------------

HOOK_S: Final = 30
"""Seconds for which the hook holds a machine that nobody lets go."""
STOP_ACTION: Final = "stop"
"""The scheduled action that ends the workers."""
USER: Final = "gougi"
"""Under whom the units run, but for those that have to be root's."""

# --- Ports, all TCP --------------------------------------------------------------------------------------------------

GCS_PORT: Final = 6379
REPORT_PORT: Final = 6390
RAY_PORTS: Final[Mapping[str, int]] = {
    "node-manager-port": 6380,
    "object-manager-port": 6381,
    "runtime-env-agent-port": 6382,
    "dashboard-agent-grpc-port": 6383,
    "dashboard-agent-listen-port": 6384,
    "metrics-export-port": 6385,
    "min-worker-port": 10002,
    "max-worker-port": 10999,
}
"""Options of ``ray start`` on every machine."""
OPEN_PORTS: Final[Mapping[str, tuple[int, int]]] = {
    "ray-and-reports": (GCS_PORT, REPORT_PORT),
    "ray-workers": (RAY_PORTS["min-worker-port"], RAY_PORTS["max-worker-port"]),
    "table-sharing": (32768, 60999),  # Linux's own range for a socket that asks for any port
}
"""Ports that the machines' security group lets through between them: first and last."""
HTTPS_PORT: Final = 443
CSA_PORT: Final = 4081
SSH_PORT: Final = 22

# --- Ways and places -------------------------------------------------------------------------------------------------

REPOSITORIES: Final = "al2023-repos-{region}-*"
"""Buckets with the image's packages, of which the first boot installs Python: Amazon Linux 2023's, in any region."""
SCRIPTS: Final = "/opt/gougi/release/deploy/scripts"
GOUGI: Final = "/opt/gougi/venv/bin/gougi"
FACTS: Final = "/etc/gougi/fleet.env"
RAY_ENV: Final = "/etc/gougi/ray.env"
IMAGE: Final = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"

# --- Units -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit. What it does not name, the unit's file must not have either."""

    machines: tuple[str, ...]
    """``head``, ``node``."""
    started: str = ""
    """``boot``: by boot.sh; ``player``: by boot.sh where there is a password; empty: by another unit."""
    does: tuple[str, ...] = ()
    """Its ExecStart lines; of a timer the unit that it starts."""
    user: str = USER
    facts: tuple[str, ...] = ()
    """Its EnvironmentFile lines."""
    restart: str = ""
    success: tuple[int, ...] = ()
    """Exit codes beside 0 that are no failure."""
    final: tuple[int, ...] = ()
    """Exit codes after which it is not started again."""
    then: tuple[int, str, str] | None = None
    """Exit code, ``start`` or ``stop``, and the unit for which that is done then: its ExecStopPost."""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


_SETUP: Final = "gougi-setup.service"
_WARM: Final = "gougi-warm.service"
_HEAD: Final = "gougi-head.service"
_NODE: Final = "gougi-node.service"
_MASTER: Final = "gougi-master.service"

UNITS: Final[Mapping[str, Unit]] = {
    _SETUP: Unit(
        ("head", "node"),
        does=tuple(f"{SCRIPTS}/{name}.sh" for name in ("tune", "fetch-secrets", "fetch-files")),
        user="root",
        restart="on-failure",
        after=("network-online.target", "systemd-tmpfiles-setup.service"),
    ),
    _WARM: Unit(
        ("head", "node"),
        does=(f"{SCRIPTS}/warm.sh",),
        facts=(RAY_ENV,),
        restart="on-failure",
        after=("systemd-tmpfiles-setup.service",),
    ),
    _HEAD: Unit(
        ("head",),
        started="boot",
        does=(f"{SCRIPTS}/ray.sh head",),
        facts=(RAY_ENV,),
        restart="always",
        success=(RAY_STOPPED,),
        after=(_SETUP,),
    ),
    _MASTER: Unit(
        ("head",),
        started="player",
        does=(f"{SCRIPTS}/master.sh",),
        facts=(RAY_ENV,),
        restart="always",
        success=(INTERRUPTED,),
        final=(BAD_INPUT,),
        after=(_SETUP, _HEAD, _WARM),
    ),
    "gougi-keep.service": Unit(
        ("head",),
        started="boot",
        does=(f"{GOUGI} fleet keep",),
        facts=(FACTS, RAY_ENV),
        restart="always",
        final=(RELEASED,),
        then=(RELEASED, "start", "gougi-end.service"),
        before=(_MASTER,),
        after=(_SETUP,),
    ),
    "gougi-end.service": Unit(("head",), does=(f"{SCRIPTS}/end-fleet.sh",), user="root"),
    "gougi-stop.timer": Unit(("head",), started="boot", does=("gougi-stop.service",), user=""),
    "gougi-stop.service": Unit(("head",), does=(f"{SCRIPTS}/end-fleet.sh when-due",), user="root"),
    _NODE: Unit(
        ("node",),
        started="boot",
        does=(f"{SCRIPTS}/ray.sh node ${{FLEET_HEAD}} ${{FLEET_SEARCHERS}}",),
        facts=(FACTS, RAY_ENV),
        restart="always",
        success=(RAY_STOPPED,),
        after=(_SETUP, _WARM),
    ),
    "gougi-spot-watch.service": Unit(
        ("node",),
        started="boot",
        does=(f"{GOUGI} fleet watch --health '{SCRIPTS}/healthcheck.sh node'",),
        facts=(FACTS, RAY_ENV),
        restart="always",
        success=(RELEASED,),
        final=(RELEASED,),
        then=(RELEASED, "stop", _NODE),
        before=(_NODE,),
        after=(_SETUP,),
    ),
}

# --- Permissions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Permission:
    """A statement of a role's policy. ``on``: the resources, in terraform's words; ``why``: what asks for it."""

    actions: tuple[str, ...]
    on: str
    why: str


_OF_ALL: Final[Mapping[str, Permission]] = {
    "SessionManager": Permission(
        (
            "ssm:UpdateInstanceInformation",
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ),
        "*",
        "the agent of Session Manager: a shell without an open port",
    ),
    "Read": Permission(
        ("s3:GetObject",), "release/* config/* books/* nets/*", "first boot, fetch-files.sh: what the machine runs"
    ),
    "List": Permission(
        ("s3:ListBucket",), "bucket", "aws s3 sync; without it an object that is not there is called forbidden"
    ),
}
PERMISSIONS: Final[Mapping[str, Mapping[str, Permission]]] = {
    "head": {
        **_OF_ALL,
        "MakeToken": Permission(("ssm:GetParameter", "ssm:PutParameter"), "token", "fetch-secrets.sh"),
        "Keep": Permission(("s3:PutObject",), "records/* logs/* books/* fleet/*", "gougi fleet keep, keep-books.sh"),
        "Ledger": Permission(("s3:GetObject",), "fleet/*", "gougi fleet keep: the ledger, the machines' reports"),
        "EndTheFleet": Permission(
            ("autoscaling:SetDesiredCapacity", "autoscaling:DeleteScheduledAction"), "group", "end-fleet.sh"
        ),
        "LetDrainedGo": Permission(("autoscaling:CompleteLifecycleAction",), "group", "gougi fleet keep"),
        "LookAtTheFleet": Permission(
            (
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeScheduledActions",
                "ec2:DescribeInstances",
                "ec2:DescribeSpotPriceHistory",
                "pricing:GetProducts",
            ),
            "*",
            "gougi fleet keep, end-fleet.sh; AWS knows no resources for these",
        ),
        "Password": Permission(("ssm:GetParameter",), "password", "fetch-secrets.sh; only where there is one"),
    },
    "worker": {
        **_OF_ALL,
        "Token": Permission(("ssm:GetParameter",), "token", "fetch-secrets.sh"),
        "Report": Permission(("s3:PutObject",), "fleet/machines/*", "gougi fleet watch: how the machine is"),
    },
}
ARNS: Final[Mapping[str, str]] = {
    "asg_name": "${var.name}-workers",
    "asg_arn": "arn:${local.partition}:autoscaling:${local.region}:${local.account}:autoScalingGroup:*"
    ":autoScalingGroupName/${local.asg_name}",
    "parameter_arn": "arn:${local.partition}:ssm:${local.region}:${local.account}:parameter",
    "token_parameter": "/gougi/${var.name}/ray-token",
    "token_arn": "${local.parameter_arn}${local.token_parameter}",
    "password_arns": 'var.csa_password_parameter == "" ? [] : ["${local.parameter_arn}${var.csa_password_parameter}"]',
    "bucket_arn": "arn:${local.partition}:s3:::${local.bucket}",
    "store_arn": "${local.bucket_arn}/${var.name}",
}
"""Terraform's locals behind these words: "group", "token", "password", "bucket"."""
THROUGH_S3: Final[Mapping[str, Permission]] = {
    "FleetBucket": Permission(
        ("s3:GetObject", "s3:PutObject", "s3:ListBucket"), "bucket *", "all that the machines do with the bucket"
    ),
    "Packages": Permission(("s3:GetObject",), REPOSITORIES, "boot.sh: dnf install python3.11"),
}
"""The policy of the gateway to S3, which every machine's way there goes through."""
