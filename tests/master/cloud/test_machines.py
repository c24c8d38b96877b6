"""A head and a worker as they boot, in the fleet's security groups: they search together, and no other host gets in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from master.cloud.folder import root_module
from master.cloud.terraform import Terraform, find
from master.config import FleetConfig
from tests.cluster.namespaces import why_not as no_namespaces
from tests.master.cloud import stand_in
from tests.master.cloud.machines import PASSWORD, SCRIPTS, TOKEN, Site
from tests.master.cloud.machines import why_not as no_packet_filter
from tests.master.cloud.security import groups_of_machines, packet_filter, rules

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]

TRIP = "trip-that-stands-nowhere-4711"


def plan(folder: Path) -> object:
    """The plan of terraform, as JSON."""
    module = stand_in.module(folder)
    (folder / "release.tar").write_text("a release")
    settings = FleetConfig(
        instance_types=("c5.xlarge",),
        region=stand_in.REGION,
        csa_password_parameter=PASSWORD,
        variables={"head_instance_type": "c5.large"},
    )
    release, config = str(folder / "release.tar"), str(module.parent / "deploy" / "gougi.toml")
    root = root_module(settings, "./terraform", release, config, stand_in=True)
    (folder / "main.tf.json").write_text(json.dumps(root))
    (folder / "nodes.auto.tfvars.json").write_text('{"nodes": 1}')
    with stand_in.moto() as url:
        terraform = Terraform(find(), folder, stand_in.environment(folder, url))
        terraform.init()
        found: object = terraform.plan("the.plan", {"nodes": 1})
        return found


def test_machines_in_their_security_groups(tmp_path: Path) -> None:
    if why := stand_in.why_not() or no_namespaces() or no_packet_filter():
        pytest.skip(why)
    planned = plan(tmp_path)
    site = Site(tmp_path / "site.log")
    try:
        site.open()
        _close(site, planned)
        _boot(site)
        _search(site, tmp_path)
        _nobody_else_gets_in(site)
        _secrets_stand_nowhere(site, tmp_path)
    finally:
        site.close()


def _close(site: Site, planned: object) -> None:
    groups = groups_of_machines(planned)
    assert groups == {"head": ["fleet", "head"], "worker": ["fleet", "workers"]}
    fleet = [site.head.address, site.worker.address]
    members = {"fleet": fleet, "endpoints": [site.aws.address], "endpoint": [site.aws.address]}
    for host, role in ((site.head, "head"), (site.worker, "worker")):
        site.run(host, ["nft", "-f", "-"], packet_filter(rules(planned), groups[role], members))


def _boot(site: Site) -> None:
    """Run the units' commands, in their order."""
    site.answers(site.aws, site.aws.address, 443)
    for name, value in ((TOKEN, "unset"), (PASSWORD, TRIP)):
        made = {"Name": name, "Value": value, "Type": "SecureString"}
        words = ["ssm", "put-parameter", "--region", "us-east-1", "--cli-input-json", "file:///dev/stdin"]
        site.run(site.head, ["/opt/gougi/bin/aws", *words], json.dumps(made))
    site.run(site.head, [f"{SCRIPTS}/fetch-secrets.sh"])
    site.begin(site.head, [f"{SCRIPTS}/ray.sh", "head"])
    site.run(site.worker, [f"{SCRIPTS}/fetch-secrets.sh"])
    site.run(site.worker, [f"{SCRIPTS}/warm.sh"])
    site.answers(site.worker, site.head.address, 6379)
    site.begin(site.worker, [f"{SCRIPTS}/ray.sh", "node", site.head.address, "1"])
    site.run(site.worker, ["sh", "-c", f"until {SCRIPTS}/healthcheck.sh node; do sleep 0.2; done"])


def _search(site: Site, folder: Path) -> None:
    """The master on the head plays over the fleet's ports until the worker's node decides a move."""
    records = folder / "records"
    words = ["play", "--address", f"{site.head.address}:6379", "--time", "60+1", "--plain", "--records", str(records)]
    # On a busy machine the fallback plays the first moves alone, so the game lasts until another answer counts.
    script = f"""
        GOUGI_CLUSTER_REPORT_PORT=6390 /opt/gougi/venv/bin/python -m gougi "$@" &
        until cat {records}/*.jsonl | grep '"decided"' | grep -qv fallback; do kill -0 $! || exit 1; sleep 0.2; done
        kill -TERM $!
        wait $! || true"""
    site.run(site.head, ["sh", "-c", script, "sh", *words])
    (log,) = records.glob("*.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ready = [event for event in events if event["event"] == "node_ready" and event["node"] != "fallback"]
    assert [event["host"] for event in ready] == [site.worker.name]
    decided = {event["source"] for event in events if event["event"] == "decided" and event["logger"] == "fleet"}
    assert "vote" in decided


def _nobody_else_gets_in(site: Site) -> None:
    for host, expected in ((site.head, {6379, 6380}), (site.worker, {6380, 6381})):
        listening = site.listening(host)
        assert expected <= set(listening)
        assert site.scan(site.stranger, host.address, listening) == ""
    assert site.scan(site.worker, site.head.address, [6379]) == "6379"
    # The scan finds open ports: without the filter the stranger gets through to all of them.
    site.run(site.head, ["nft", "flush", "ruleset"])
    listening = site.listening(site.head)
    assert site.scan(site.stranger, site.head.address, listening).split() == list(map(str, listening))


def _secrets_stand_nowhere(site: Site, folder: Path) -> None:
    """In no log, and in no process's arguments; only their owner can read the files that hold them."""
    token = site.run(site.head, ["cat", "/run/gougi/ray-token"], log=False).strip()
    assert len(token) == 64
    assert site.run(site.worker, ["cat", "/run/gougi/ray-token"], log=False).strip() == token
    modes = site.run(site.head, ["sh", "-c", "stat -c %a /run/gougi/ray-token /run/gougi/csa-password"])
    assert modes.split() == ["640", "640"]
    for host in (site.head, site.worker):
        shown = "".join(
            Path(f"/proc/{pid}/cmdline").read_text(errors="replace") for pid in host.processes() if _alive(pid)
        )
        assert "ray" in shown
        assert token not in shown and TRIP not in shown
        for secret in (token, TRIP):
            found = f"grep -rlsF -e {secret} /var/lib/gougi /tmp/ray /etc/gougi || true"
            assert site.run(host, ["sh", "-c", found]).strip() == ""
    said = b"".join(path.read_bytes() for path in (folder / "records").iterdir())
    said += site.log.read_bytes()
    assert token.encode() not in said and TRIP.encode() not in said


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").exists()
