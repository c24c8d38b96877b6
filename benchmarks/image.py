"""The container image, built and run for real, without a container engine: head, worker and master in containers.

Needs root, a Debian with ``buildah``, ``runc`` and ``debootstrap`` (``apt-get install``), and 4 GB of disk; ten minutes
the first time, most of it Debian and the compilation, then four. Because no registry is reachable, Debian's own Python
3.11 in a minimal bookworm replaces the base image named in ``deploy/Dockerfile``: the same system, another build of
Python.

    python benchmarks/image.py FOLDER     # keeps the base, the layers and the compiled code there for the next time

It checks that the build needs no network; that the image runs as user 1000 without capabilities, on a file system that
is read-only except for the volumes of a pod; that the head admits nobody without the token; that a worker compiles,
joins, reports that it is healthy and plays with a master in a separate container beside the head; and that SIGTERM
dismisses its node before Ray ends, while the game goes on.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.namespaces import Host, Network

ROOT = Path(__file__).parents[1]
BASE = "docker.io/library/python:3.11.13-slim-bookworm"
IMAGE = "gougi:check"
USER = 1000
SCRIPTS = "/opt/gougi/release/deploy/scripts"
HEALTH = {f"RAY_health_check_{name}": value for name, value in [
    ("initial_delay_ms", "500"), ("period_ms", "250"), ("timeout_ms", "400"), ("failure_threshold", "3")
]}  # fmt: skip


def run(*command: str | Path, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=check, text=True, **options)


def asked(*command: str | Path) -> str:
    return run(*command, stdout=subprocess.PIPE).stdout.strip()


class Builder:
    """buildah with its own storage, below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._options = ["--root", str(folder / "storage"), "--runroot", str(folder / "run")]
        os.environ["BUILDAH_ISOLATION"] = "chroot"

    def _ask(self, *words: str | Path) -> str:
        return asked("buildah", words[0], *self._options, *words[1:])

    def base(self) -> None:
        """The stand-in for the base image, once."""
        if BASE in self._ask("images", "--format", "{{.Name}}:{{.Tag}}"):
            return
        root = self._folder / "base"
        run(
            "debootstrap", "--variant=minbase", "--include=python3.11,python3.11-venv,ca-certificates", "bookworm", root
        )
        for name in ("python", "python3", "python3.11"):
            (root / "usr" / "local" / "bin" / name).symlink_to("/usr/bin/python3.11")
        for place in (
            "var/cache/apt/archives",
            "var/lib/apt/lists",
            "usr/share/doc",
            "usr/share/man",
            "usr/share/locale",
        ):
            shutil.rmtree(root / place)
        run("tar", "-C", root, "-cf", self._folder / "base.tar", ".")
        shutil.rmtree(root)
        (self._folder / "Base").write_text("FROM scratch\nADD base.tar /\nENV LANG=C.UTF-8\n")
        self._ask("bud", "--quiet", "--tag", BASE, "--file", self._folder / "Base", self._folder)

    def image(self, release: Path) -> Path:
        """Build deploy/Dockerfile, without a network. Returns the root of its file system."""
        context = self._folder / "context"
        shutil.rmtree(context, ignore_errors=True)
        context.mkdir()
        run("tar", "-C", context, "-xf", release)
        words = ("--quiet", "--format", "docker", "--pull-never", "--network", "none", "--tag", IMAGE)
        self._ask("bud", *words, "--file", ROOT / "deploy" / "Dockerfile", context)
        return Path(self._ask("mount", self._ask("from", "--pull-never", IMAGE)))

    def configuration(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._ask("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        return found

    def size(self, name: str) -> str:
        """Unpacked, with the layers below it."""
        found: list[dict[str, Any]] = json.loads(self._ask("images", "--json", name))
        return str(found[0]["size"])

    def close(self) -> None:
        self._ask("rm", "--all")


@dataclass
class Container:
    """One container on a host of the network: like a pod's container in Kubernetes."""

    name: str
    host: Host
    folder: Path
    root: Path
    configuration: dict[str, Any]
    environment: dict[str, str]
    volumes: dict[str, Path] = field(default_factory=dict)
    beside: Container | None = None
    """The container whose process namespace it shares, as with `shareProcessNamespace` in a pod."""
    process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str, entrypoint: list[str] | None = None) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "config.json").write_text(json.dumps(self._specification(arguments, entrypoint)))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*self._runtime(), "run", "--bundle", str(self.folder), self.name],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        return run(*self._runtime(), "exec", self.name, *command, check=False, capture_output=True)

    def kill(self, name: str) -> None:
        run(*self._runtime(), "kill", self.name, name)

    def wait(self, timeout_s: float) -> int:
        assert self.process is not None
        return self.process.wait(timeout_s)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def processes(self) -> str:
        return f"/proc/{json.loads(asked(*self._runtime(), 'state', self.name))['pid']}/ns/pid"

    def _runtime(self) -> list[str]:
        return ["runc", "--root", str(self.folder.parent / "runtime")]

    def _specification(self, arguments: tuple[str, ...], entrypoint: list[str] | None) -> dict[str, Any]:
        given = dict(entry.split("=", 1) for entry in self.configuration["Env"])
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {
                "destination": "/dev",
                "type": "tmpfs",
                "source": "tmpfs",
                "options": ["nosuid", "mode=755", "size=65536k"],
            },
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
        ]
        for place, folder in self.volumes.items():
            mounts.append({"destination": place, "type": "bind", "source": str(folder), "options": ["rbind", "rw"]})
        return {
            "ociVersion": "1.0.0",
            "process": {
                "user": {"uid": USER, "gid": USER},
                "args": [*(entrypoint if entrypoint is not None else self.configuration["Entrypoint"]), *arguments],
                "env": [f"{name}={value}" for name, value in (given | self.environment).items()],
                "cwd": self.configuration["WorkingDir"],
                "capabilities": {},
                "noNewPrivileges": True,
            },
            "root": {"path": str(self.root), "readonly": True},
            "hostname": self.name,
            "mounts": mounts,
            "linux": {
                "namespaces": [
                    *({"type": kind} for kind in ("ipc", "uts", "mount")),
                    {"type": "pid"} if self.beside is None else {"type": "pid", "path": self.beside.processes},
                    {"type": "network", "path": f"/proc/{self.host.enter()[2]}/ns/net"},
                ],
                "maskedPaths": ["/proc/kcore", "/proc/keys", "/sys/firmware"],
                "readonlyPaths": ["/proc/sys", "/proc/sysrq-trigger"],
            },
        }


class Check:
    """See the module docstring."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._builder = Builder(folder)
        self._network = Network()
        self._containers: list[Container] = []
        self._shared = Path("/dev/shm/gougi-image")
        self._runs = folder / "containers"
        self._root = Path()

    def run(self) -> None:
        shutil.rmtree(self._runs, ignore_errors=True)
        began = time.monotonic()
        self._builder.base()
        release = self._folder / "gougi.tar"
        run(ROOT / "deploy" / "scripts" / "bundle.sh", release)
        self._root = self._builder.image(release)
        say(
            f"built in {time.monotonic() - began:.0f} s: {self._builder.size(IMAGE)}, "
            f"of it {self._builder.size(BASE)} base"
        )
        self._the_machines()

    def _the_machines(self) -> None:
        head_host, node_host = self._network.add(), self._network.add()
        for host in (head_host, node_host):
            # A pod has one too: Ray finds its own address by it.
            run(*host.enter(), "ip", "route", "add", "default", "via", "10.77.0.254")
        token = self._runs / "token"
        token.parent.mkdir()
        token.write_text(secrets.token_hex(32))
        os.chown(token, USER, USER)
        token.chmod(0o600)
        head = self._container("head", head_host, "head", token)
        node = self._container("node", node_host, "node", token)
        head.start("head")
        self._until(
            lambda: head.execute(f"{SCRIPTS}/container.sh", "health").returncode == 0, "the head is healthy", head
        )
        found = head.execute("bash", "-lc", "command -v ray gougi")
        assert found.stdout.split() == ["/opt/gougi/venv/bin/ray", "/opt/gougi/venv/bin/gougi"], found
        stranger = self._container("stranger", head_host, "head", token)
        stranger.environment |= {"RAY_AUTH_MODE": "disabled"}
        stranger.start("-c", f"import ray; ray.init('{head_host.address}:6379')", entrypoint=["python"])
        assert stranger.wait(240) != 0, "somebody without the token was let in"
        say("without the token no client is admitted")
        began = time.monotonic()
        node.start("node", head_host.address, "1")
        self._until(
            lambda: node.execute(f"{SCRIPTS}/container.sh", "health").returncode == 0, "the worker is healthy", node
        )
        say(f"the worker compiled and joined in {time.monotonic() - began:.0f} s")
        master = self._container("master", head_host, "head", token)
        master.environment |= {"GOUGI_CLUSTER_REPORT_PORT": "6390"}
        master.beside = head
        words = ("--time", "20+2", "--max-moves", "30", "--plain", "--records", "/var/lib/gougi/records")
        master.start("play", "--address", f"{head_host.address}:6379", *words)
        self._until(
            lambda: self._decided(lambda source: source != "fallback"), "the worker has decided a move", node, master
        )
        who = node.execute("sh", "-c", "id -u; grep CapEff /proc/self/status; touch /opt/x || echo read-only")
        assert who.stdout.split() == [str(USER), "CapEff:", "0" * 16, "read-only"], who
        began = time.monotonic()
        node.kill("TERM")
        code = node.wait(40)
        took = time.monotonic() - began
        self._until(lambda: self._decided(lambda source: source == "fallback"), "the head plays on", master)
        left = [event for event in self._events() if event["event"] in ("node_left", "node_lost", "node_dismissed")]
        say(f"SIGTERM: the worker ended after {took:.1f} s with {code}; the master: {left}")
        master.kill("TERM")
        say(f"the master ended with {master.wait(40)}")
        head.kill("TERM")
        say(f"the head ended with {head.wait(40)}")

    def _container(self, name: str, host: Host, pod: str, token: Path) -> Container:
        """Volumes belong to the pod, as in Kubernetes."""
        own = {
            "/dev/shm": self._shared / pod,
            "/tmp": self._runs / f"{pod}-tmp",
            "/run/gougi": self._runs / f"{pod}-run",
            "/var/lib/gougi": self._runs / f"{pod}-state",
            "/var/cache/gougi": self._folder / "cache",
        }
        for folder in own.values():
            folder.mkdir(parents=True, exist_ok=True)
            os.chown(folder, USER, USER)
        volumes = own | {"/run/secrets/token": token}
        environment = {"RAY_AUTH_TOKEN_PATH": "/run/secrets/token", **HEALTH}
        made = Container(name, host, self._runs / name, self._root, self._builder.configuration(), environment, volumes)
        self._containers.append(made)
        return made

    def _events(self) -> list[dict[str, Any]]:
        found = []
        for log in (self._runs / "head-state" / "records").glob("*.jsonl"):
            found += [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        return found

    def _decided(self, by: Any) -> bool:
        moves = [event for event in self._events() if event["event"] == "decided" and event["logger"] == "fleet"]
        return bool(moves) and by(moves[-1]["source"])

    def _until(self, done: Any, what: str, *by: Container, timeout_s: float = 400) -> None:
        deadline = time.monotonic() + timeout_s
        while not done():
            ended = [each for each in by if each.process is not None and each.process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise SystemExit(f"not so: {what}\n{(ended or by)[0].log.read_text()[-4000:]}")
            time.sleep(0.3)
        say(what)

    def close(self) -> None:
        for container in self._containers:
            if container.process is not None and container.process.poll() is None:
                container.kill("KILL")
                container.process.wait()
        self._network.close()
        self._builder.close()
        shutil.rmtree(self._shared, ignore_errors=True)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: image.py FOLDER")
    place = Path(sys.argv[1]).resolve()
    place.mkdir(parents=True, exist_ok=True)
    check = Check(place)
    try:
        check.run()
    finally:
        check.close()
