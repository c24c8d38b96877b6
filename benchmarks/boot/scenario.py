"""The steps that the machines have to go through."""

from __future__ import annotations

import json
import logging
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.boot.aws import Aws, Instance
from benchmarks.boot.machine import PATIENCE, REBOOT, Machine, MachineError
from benchmarks.boot.owner import GAME, TRIP, Owner
from tests.master.cloud.stand_in import client

HEAD_UNITS = (
    "gougi-setup",
    "gougi-warm",
    "gougi-head",
    "gougi-keep",
    "gougi-master",
    "gougi-records.timer",
    "gougi-stop.timer",
)
NODE_UNITS = ("gougi-setup", "gougi-warm", "gougi-node", "gougi-spot-watch")
RAY = "/opt/gougi/venv/bin/ray"
BAD = Path(__file__).with_name("bad_worker.py")

Found = TypeVar("Found")


class Scenario:
    """A fleet of a head and a worker.

    Args:
        root: the machines' image.
        release: the release that they install.
        folder: an empty one; its files help to find out why something failed.
    """

    def __init__(self, root: Path, release: Path, folder: Path) -> None:
        logging.getLogger("werkzeug").setLevel(logging.WARNING)  # otherwise one line for each of a thousand requests
        nspawn = Path("/run/systemd/nspawn")
        nspawn.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(nspawn)], check=True)
        self.root, self.release, self.folder = root, release, folder
        self.aws = Aws(folder)
        self.owner = Owner(folder, release, self.aws.url)
        self.machines: dict[str, Machine] = {}

    def run(self) -> bool:
        """Take all steps, print a line for each, and return whether all went well."""
        steps = [
            self.terraform_makes_it,
            self.the_machines_boot,
            self.a_worker_with_another_release_makes_room,
            self.the_units_are_up,
            self.ray_knows_the_worker,
            self.a_game_is_played_by_the_worker,
            self.the_owner_sees_it_ready,
            self.a_later_worker_searches,
            self.a_worker_from_an_image_searches,
            self.secrets_stand_nowhere,
            self.a_bad_worker_gets_nothing,
            self.a_raylet_that_is_killed_comes_back,
            self.a_node_that_is_stopped_is_sent_away_first,
            self.a_worker_comes_back_from_a_reboot,
            self.the_head_comes_back_from_a_reboot,
            self.a_worker_is_taken_away,
            self.the_fleet_ends,
        ]
        try:
            for step in steps:
                since = time.monotonic()
                said = step()
                name = step.__name__.replace("_", " ")
                print(f"{time.monotonic() - since:7.1f} s  {name}{said and ': '}{said or ''}", flush=True)
        except (MachineError, AssertionError, subprocess.SubprocessError) as error:
            print(f"failed: {step.__name__.replace('_', ' ')}: {error}", flush=True)
            return False
        finally:
            self.close()
        return True

    def close(self) -> None:
        for name, machine in self.machines.items():
            if machine.runs:
                (self.folder / f"{name}.journal").write_text(machine.run("journalctl", "--no-pager", code=None))
            machine.close()
        self.owner.close()
        self.aws.close()

    def terraform_makes_it(self) -> str:
        self.owner.fleet("up", "--yes", "--wait", "0")
        return ""

    def the_machines_boot(self) -> str:
        for instance in self.aws.instances():
            self._make(instance.role, instance).boot()
        for machine in self.machines.values():
            until(f"{machine.name}: systemd is there", 60, partial(machine.run, "systemctl", "--version", code=None))
            until(f"{machine.name}: cloud-init is done", 1200, partial(self._cloud_init, machine))
        return self.machines["node"].run("systemctl", "--version").splitlines()[0]

    def _make(self, name: str, instance: Instance) -> Machine:
        machine = Machine(name, self.root, self.folder, self.aws.certificate, instance)
        self.machines[name] = machine
        return machine

    def _cloud_init(self, machine: Machine) -> bool:
        said = machine.run("cloud-init", "status", code=None)
        if "error" in said:
            raise MachineError(f"{machine.name}: {said}\n{machine.journal('cloud-final.service')[-3000:]}")
        return "done" in said

    def a_worker_with_another_release_makes_room(self) -> str:
        instance = self.machines["node"].instance
        wrong = instance.user_data.replace("RELEASE_SHA256=", "RELEASE_SHA256=f")
        other = Instance("i-0", "node", "10.81.16.250", instance.profile, wrong)
        self.aws.metadata.machines[other.address] = self.aws.metadata.machines[instance.address]
        machine = self._make("wrong", other)
        machine.boot()
        assert machine.wait_off(200) == 0
        return "off by itself"

    def the_units_are_up(self) -> str:
        for machine, units in ((self.machines["head"], HEAD_UNITS), (self.machines["node"], NODE_UNITS)):
            self._active(machine, units, 1800)
            failed = machine.systemctl("--failed", "--no-legend", "--plain")
            assert failed == "", f"{machine.name}: {failed}"
        return ""

    def _active(self, machine: Machine, units: tuple[str, ...], timeout_s: float) -> None:
        wanted = ["active"] * len(units)
        until(
            f"{machine.name}: {', '.join(units)} are active",
            timeout_s,
            lambda: machine.systemctl("is-active", *units).split() == wanted,
        )

    def ray_knows_the_worker(self) -> str:
        return until("two nodes of Ray's are alive", 120, self._ray_nodes)

    def _ray_nodes(self) -> str:
        head = self.machines["head"]
        as_gougi = ("--uid=gougi", "--property=EnvironmentFile=/etc/gougi/ray.env")
        address = f"{head.instance.address}:6379"
        said = head.run("systemd-run", "--quiet", "--pipe", "--wait", *as_gougi, RAY, "status", "--address", address)
        return next((line.strip() for line in said.splitlines() if line.endswith("/1.0 searcher")), "")

    def a_game_is_played_by_the_worker(self) -> str:
        self.owner.start("serve", "--host", "0.0.0.0", "--max-moves", "16", "--records", str(self.folder / "server"))
        self.machines["head"].systemctl("restart", "gougi-master")
        until("a node of the worker is in the fleet", 300, self._of_workers)
        opponent = (
            f"play --server 127.0.0.1:4081 --game {GAME} --name other --games 0 --nodes 1 --hash 16 --plain".split()
        )
        other = self.owner.start(*opponent, "--records", str(self.folder / "other"))
        ended = "grep -h ^% /var/lib/gougi/records/*.csa"
        until("a game is over", 400, lambda: self.machines["head"].run("sh", "-c", ended, code=None))
        other.kill()
        sources = [event["source"] for event in self._events("decided") if event["logger"] == "fleet"]
        assert sources and "fallback" not in sources, f"who decided: {sources}"
        assert self._of_workers() == {self.machines["node"].instance.hostname}
        return f"{len(sources)} decisions"

    def _of_workers(self) -> set[str]:
        """The hosts of the nodes that have come to the master."""
        return {event["host"] for event in self._events("node_ready") if event["node"] != "fallback"}

    def _events(self, name: str) -> list[dict[str, Any]]:
        lines = self.machines["head"].run("sh", "-c", "cat /var/lib/gougi/records/*.jsonl", code=None).splitlines()
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [event for event in events if event["event"] == name]

    def the_owner_sees_it_ready(self) -> str:
        until("the worker is ready", 120, lambda: self.owner.status()["ready"] == 1)
        keys = until("record and log are in the bucket", 120, lambda: self.owner.in_bucket("records/"))
        return f"{self.owner.status()['nps']:,} nodes/s; in the bucket: {', '.join(keys)}"

    def a_later_worker_searches(self) -> str:
        """It takes the head's code from the bucket, as all workers but the first ones do."""
        self.machines["head"].systemctl("start", "gougi-records")
        until("the head's code is in the bucket", 120, lambda: self.owner.in_bucket("code/"))
        return self._joins(self._later("later", "10.81.16.251"))

    def a_worker_from_an_image_searches(self) -> str:
        """Its image is made as deploy/image.pkr.hcl makes one, with the head's compiled code."""
        machine = self._later("imaged", "10.81.16.252")
        cache = Path("var/cache/gougi")
        subprocess.run(["cp", "-a", self.machines["head"].disk / cache, machine.disk / cache], check=True)
        machine.provision(self.release)
        return self._joins(machine)

    def _later(self, name: str, address: str) -> Machine:
        """Another worker, which is off."""
        first = self.machines["node"].instance
        known = self.aws.metadata.machines
        known[address] = {**known[first.address], "meta-data/instance-id": f"i-{name}"}
        return self._make(name, replace(first, id=f"i-{name}", address=address))

    def _joins(self, machine: Machine) -> str:
        """Boot a worker. Returns how long it took until its node had searched."""
        since = time.monotonic()
        machine.boot()
        until("its node has searched", 300, lambda: machine.run("ls", "/run/gougi/nodes"))
        took_s = time.monotonic() - since
        said = machine.journal("gougi-warm")
        assert "compiling" not in said, said
        machine.systemctl("poweroff")
        assert machine.wait_off(60) == 0
        until("Ray has only the first worker", 120, self._ray_nodes)
        return f"{took_s:.0f} s after its start"

    def secrets_stand_nowhere(self) -> str:
        head, node = self.machines["head"], self.machines["node"]
        token = head.run("cat", "/run/gougi/ray-token")
        assert node.run("cat", "/run/gougi/ray-token") == token
        places = ("/etc", "/var", "/opt/gougi/release", "/tmp", "/run/log", "/root")
        for machine, secrets in ((head, ("ray-token", "csa-password")), (node, ("ray-token",))):
            shown = machine.run("sh", "-c", "cat /proc/[0-9]*/cmdline", code=None)
            assert token not in shown and TRIP not in shown, f"{machine.name}: a secret is in the process list"
            for name in secrets:
                shown = machine.run("stat", "--format=%a %U %G", f"/run/gougi/{name}")
                assert shown == f"640 root {'gougi' if name == 'ray-token' else 'root'}", shown
                found = machine.run("grep", "-rlsF", f"--file=/run/gougi/{name}", *places, code=None)
                assert found == "", f"{machine.name}: {name} stands in {found}"
        return ""

    def a_bad_worker_gets_nothing(self) -> str:
        """With the token it can run programs on the head and on its own machine, but they can do no harm."""
        head, node = self.machines["head"], self.machines["node"]
        master = head.systemctl("show", "--value", "--property=MainPID", "gougi-master")
        node.run("sh", "-c", f"cat >/run/bad.py <<'END'\n{BAD.read_text()}\nEND")
        as_gougi = ("--uid=gougi", "--property=EnvironmentFile=/etc/gougi/ray.env")
        hosts = (head.instance.address, node.instance.address)
        words = ("/opt/gougi/venv/bin/python", "/run/bad.py", f"{hosts[0]}:6379", master, *hosts)
        said = node.run("systemd-run", "--quiet", "--pipe", "--wait", *as_gougi, *words, timeout_s=200.0 * PATIENCE)
        found = json.loads(said.splitlines()[-1])
        assert found[hosts[0]] == {"user": "gougi-ray", "done": []}, found
        # Its nodes write there anyway; a worker has neither books nor records of its own.
        allowed = {"records", "books", "compiled code"}
        assert found[hosts[1]]["user"] == "gougi" and set(found[hosts[1]]["done"]) <= allowed, found
        return f"on the head it is {found[hosts[0]]['user']}"

    def a_raylet_that_is_killed_comes_back(self) -> str:
        node = self.machines["node"]
        before = self._nodes()
        assert before, "no node process says that it is there"
        killed = node.run("pgrep", "-x", "raylet")
        node.run("pkill", "-KILL", "-x", "raylet")
        until("another raylet is there", 60, lambda: node.run("pgrep", "-x", "raylet", code=None) not in ("", killed))
        healthy = ("/opt/gougi/release/deploy/scripts/healthcheck.sh", "node")
        until("it answers", 60, lambda: not node.run(*healthy))
        known = until("Ray knows the worker again", 120, self._ray_nodes)
        # A Ray that is still starting ignores SIGTERM, so the next step would find a unit that failed to stop.
        started = "Ray runtime started"
        until("Ray has started again", 60, lambda: node.journal("gougi-node").count(started) > 1)
        assert self._nodes() == before, "the nodes did not outlive their raylet"
        return known

    def _nodes(self) -> set[str]:
        """The node processes that have announced themselves (``GOUGI_RUN_DIR``), which they do after a first search."""
        return set(self.machines["node"].run("ls", "/run/gougi/nodes").split())

    def _serves_again(self, before: set[str]) -> str:
        until("another node process serves", 300, lambda: self._nodes() - before)
        return self._ray_nodes()

    def a_node_that_is_stopped_is_sent_away_first(self) -> str:
        node, before = self.machines["node"], self._nodes()
        node.systemctl("stop", "gougi-node")
        left = node.run("pgrep", "--list-full", "--uid", "gougi", "raylet", code=None)
        assert left == "", left
        said = node.journal("gougi-node")
        assert "were not dismissed" not in said, said[-2000:]
        assert node.systemctl("is-failed", "gougi-node") == "inactive"
        node.systemctl("start", "gougi-node")
        return self._serves_again(before)

    def a_worker_comes_back_from_a_reboot(self) -> str:
        self._reboot("node", NODE_UNITS)
        return self._serves_again(set())

    def the_head_comes_back_from_a_reboot(self) -> str:
        before = self._nodes()
        self._reboot("head", HEAD_UNITS)
        return self._serves_again(before)

    def _reboot(self, name: str, units: tuple[str, ...]) -> None:
        machine = self.machines[name]
        machine.systemctl("reboot", "--no-block")
        assert machine.wait_off(120) == REBOOT
        machine.boot()
        self._active(machine, units, 300)

    def a_worker_is_taken_away(self) -> str:
        node = self.machines["node"]
        self.aws.notice(node.instance)
        units = ("gougi-spot-watch", "gougi-node")
        until("watch and node have ended", 60, lambda: set(node.systemctl("is-active", *units).split()) == {"inactive"})
        assert node.systemctl("show", "--value", "--property=Result", "gougi-spot-watch") == "success"
        rows = self.owner.status()["rows"]
        return ", ".join(f"{row['role']}: {row['state']}" for row in rows)

    def the_fleet_ends(self) -> str:
        """`gougi fleet keep` ends the fleet (exit code 10): the number of workers goes to 0, and the head is off."""
        head = self.machines["head"]
        head.systemctl("--no-block", "start", "gougi-end")
        assert head.wait_off(200) == 0
        groups = client("autoscaling", self.aws.url).describe_auto_scaling_groups()["AutoScalingGroups"]
        assert [group["DesiredCapacity"] for group in groups] == [0]
        return f"in the bucket: {', '.join(self.owner.in_bucket('records/') + self.owner.in_bucket('logs/'))}"


def until(what: str, timeout_s: float, true: Callable[[], Found]) -> Found:
    """Call a function until its result is true, and return that. A machine that is off gives no answer.

    Raises:
        MachineError: the time is over.
    """
    deadline = time.monotonic() + timeout_s * PATIENCE
    why = ""
    while time.monotonic() < deadline:
        try:
            if found := true():
                return found
        except MachineError as error:
            why = str(error)
        time.sleep(0.5)
    raise MachineError(f"not within {timeout_s * PATIENCE:.0f} s: {what}; {why}")
