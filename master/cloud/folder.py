"""The operator's folder of a fleet: terraform's root module, written from the configuration, releases, and the lock.

Facts for the next command are kept elsewhere (`master.cloud.kept`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.cloud.plan import FleetLocation
from master.cloud.player import csa_port
from worker.files import replace_file

if TYPE_CHECKING:
    from master.config import FleetConfig

ROOT_MODULE: Final = "gougi.tf.json"
_RELEASES: Final = "release-*.tar"
"""Release files; the name of each has the beginning of its hash."""
LOCK: Final = "operator.lock"
_PROVIDERS: Final = {"aws": {"source": "hashicorp/aws", "version": "~> 5.0"}}
_FIRST_CONFIG: Final = "deploy/gougi.toml"
_CHECKOUT: Final = Path(__file__).parents[2]


class FolderError(Exception):
    """The folder cannot be prepared; the text names the missing part."""


class FolderBusy(Exception):
    """Another command works on the fleet; the text names it."""


def root_module(
    settings: FleetConfig,
    source: str,
    release_file: str,
    config_file: str,
    stand_in: bool,
    port: int | None = None,
    zone: str = "",
    backend: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The root module in terraform's JSON syntax. Pure.

    Args:
        settings: the section [fleet].
        source: path of the module, relative to the folder.
        release_file: the release that the machines install.
        config_file: the master's configuration.
        stand_in: the endpoint is not AWS but a fake for tests, which serves all buckets under one host name.
        port: of the tournament server; None: the module's default.
        zone: of the existing fleet; empty: the module chooses one.
        backend: terraform's place for its state; None: in the folder.
    """
    given: dict[str, Any] = {
        "name": settings.name,
        "instance_types": list(settings.instance_types),
        "csa_password_parameter": settings.csa_password_parameter,
        "release_file": release_file,
        "config_file": config_file,
        **({} if port is None else {"csa_port": port}),
        **({"price_cap_usd": settings.price_cap_usd} if settings.price_cap_usd else {}),
        **({"availability_zone": zone} if zone else {}),
        **settings.variables,
    }
    provider: dict[str, Any] = {"region": settings.region} if settings.region else {}
    if stand_in:
        provider["s3_use_path_style"] = True
    return {
        "//": "Written by gougi fleet, again at each plan.",
        "terraform": {
            "required_providers": _PROVIDERS,
            **({"backend": dict(backend)} if backend else {}),
        },
        "provider": {"aws": provider},
        "variable": {"nodes": {"type": "number"}},
        "module": {"fleet": {"source": source, "nodes": "${var.nodes}", **_escaped(given)}},
        "output": {"fleet": {"value": "${module.fleet}"}},
    }


class FleetFolder:
    """A fleet's folder, which only its owner can read: terraform's state may hold secrets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock: int | None = None
        """The lock's file descriptor, while this process is the operator."""

    @property
    def exists(self) -> bool:
        return (self.path / ROOT_MODULE).exists()

    @contextmanager
    def locked(self, command: str, tell: Callable[[str], None] = print) -> Iterator[str]:
        """Be the only operator of the fleet for a block: from before a plan until it is applied. Yields the last
        command that used the folder, if it was killed.

        The kernel holds the lock (``flock``), until its owner has ended, for any reason, and so has the terraform
        process that the owner started, which inherits it. The folder is created if it does not exist, and removed
        again if it stays empty.

        Args:
            command: the command, for other commands that find the folder locked.
            tell: callback, if this waits for the terraform of a killed command.

        Raises:
            FolderBusy: another command holds the lock.
            FolderError: the folder or the lock in it cannot be created.
        """
        path, made = self.path / LOCK, not self.path.exists()
        with self._disk_errors():
            self._make()
            file = path.open("a+")
        with file:
            file.seek(0)
            who = file.read().strip()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                process = re.search(r"process (\d+)", who)
                if process is None or Path("/proc", process[1]).exists():
                    who = who or "another command"
                    raise FolderBusy(
                        f"{self.path} is in use: {who} is not done yet; try again when it has ended"
                    ) from error
                tell(f"{who} was killed; its terraform is still at work, and is waited for")
                fcntl.flock(file, fcntl.LOCK_EX)
            os.set_inheritable(file.fileno(), True)
            self.lock = file.fileno()
            file.truncate(0)
            file.write(f"`{command}` (process {os.getpid()})\n")
            file.flush()
            try:
                yield who
            finally:
                self.lock = None
                file.truncate(0)  # the file stays: otherwise others that have it open would lock a deleted one
                if made and [found.name for found in self.path.iterdir()] == [LOCK]:
                    path.unlink()
                    self.path.rmdir()

    def prepare(
        self,
        settings: FleetConfig,
        config_file: Path | None,
        *,
        rebuild: bool,
        there: FleetLocation | None = None,
        backend: Mapping[str, Any] | None = None,
        fetch: Callable[[str, Path], bool] = lambda _name, _path: False,
    ) -> None:
        """Prepare everything for a plan.

        Args:
            settings: the section [fleet].
            config_file: the master's configuration; None: the default one.
            rebuild: build a new release.
            there: the existing fleet.
            backend: as in `root_module`.
            fetch: downloads the fleet's release by name from the machines' source; False: it is not there.

        Raises:
            FolderError: the checkout, or a program that makes the release, is missing; or a disk error.
        """
        with self._disk_errors():
            self._make()
            module = self._module(settings)
            _check_variables(settings.variables, module / "variables.tf", config_file)
            release = settings.variables.get("release_file") or self._release(module, there, fetch, rebuild=rebuild)
            file = self.config_file(settings, config_file)
            source = os.path.relpath(module, self.path)
            stand_in = bool(os.environ.get("AWS_ENDPOINT_URL"))
            # The module's choice may change with AWS's offers, but a fleet must not move because of that.
            zone = "" if there is None else there.zone
            content = root_module(
                settings, source, str(release), str(file.absolute()), stand_in, csa_port(file), zone, backend
            )
            replace_file(self.path / ROOT_MODULE, f"{json.dumps(content, indent=2)}\n".encode())

    def prepare_end(self, region: str, backend: Mapping[str, Any] | None, stand_in: bool) -> None:
        """Prepare an end without local files: write a root module that only names the region and the state."""
        root = {
            "terraform": {"required_providers": _PROVIDERS, **({"backend": dict(backend)} if backend else {})},
            "variable": {"nodes": {"type": "number"}},
            "provider": {"aws": {"region": region, **({"s3_use_path_style": True} if stand_in else {})}},
        }
        with self._disk_errors():
            replace_file(self.path / ROOT_MODULE, f"{json.dumps(root, indent=2)}\n".encode())

    @contextmanager
    def root_module_of_success(self) -> Iterator[None]:
        """Wrap a plan: if it fails, restore the old root module, so that the fleet can still be ended."""
        file = self.path / ROOT_MODULE
        before = file.read_bytes() if file.is_file() else None
        try:
            yield
        except BaseException:
            if before is not None:
                with suppress(OSError):
                    replace_file(file, before)
            raise

    def config_file(self, settings: FleetConfig, given: Path | None) -> Path:
        """The head's configuration; ``given``: the operator's own; None: the default one."""
        return Path(settings.variables.get("config_file") or given or self._module(settings).parent / _FIRST_CONFIG)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """Convert disk errors to FolderError."""
        try:
            yield
        except OSError as error:
            taken = self.path.exists() and not self.path.is_dir()
            why = "not a folder" if taken else error.strerror or error
            raise FolderError(f"{self.path if taken else error.filename or self.path}: {why}") from error

    def _make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _module(self, settings: FleetConfig) -> Path:
        module = Path(settings.module).expanduser() if settings.module else _CHECKOUT / "terraform"
        if not (module / "variables.tf").is_file():
            raise FolderError(f"{module}: no terraform module: run gougi from a checkout, or set [fleet] module")
        return module.absolute()

    def _release(
        self, module: Path, there: FleetLocation | None, fetch: Callable[[str, Path], bool], *, rebuild: bool
    ) -> Path:
        """The fleet's release, or a new one if there is none or a rebuild is requested."""
        known = [self.path / there.release] if there is not None and there.release else self._releases()
        if not rebuild and known and (known[-1].exists() or fetch(known[-1].name, known[-1])):
            return known[-1].absolute()
        script, made = module.parent / "deploy" / "scripts" / "bundle.sh", self.path / "release.new.tar"
        done = subprocess.run(["bash", str(script), str(made)], capture_output=True, text=True, check=False)
        if done.returncode:
            made.unlink(missing_ok=True)
            words = (done.stderr or done.stdout).strip().splitlines() or ["without a word"]
            raise FolderError(f"{script}: the release cannot be made: {words[-1]}")
        with made.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        release = self.path / _RELEASES.replace("*", digest[:16])
        made.replace(release)
        return release.absolute()

    def _releases(self) -> list[Path]:
        """The release files, newest last."""
        return sorted(self.path.glob(_RELEASES), key=lambda path: path.stat().st_mtime_ns)

    def keep_release(self, location: FleetLocation) -> FleetLocation:
        """The location with the release of the current root module, whose plan is applied. Removes other releases."""
        with self._disk_errors():
            root = json.loads((self.path / ROOT_MODULE).read_text())["module"]["fleet"]["release_file"]
        release = Path(root).name if Path(root).parent == self.path.absolute() else ""
        for path in self._releases():
            if path.name != release:
                path.unlink(missing_ok=True)
        return replace(location, release=release)


def _check_variables(given: Iterable[str], declared_in: Path, config_file: Path | None) -> None:
    """Reject variables that the module does not have. Terraform itself reports bad values."""
    declared = re.findall(r'^variable "(\w+)"', declared_in.read_text(encoding="utf-8"), re.MULTILINE)
    for name in given:
        where = f"{config_file or 'configuration'}: [fleet] variables.{name}"
        if name == "nodes":
            raise FolderError(f"{where}: the number is `[fleet] nodes`, or `gougi fleet scale N`")
        if name not in declared:
            raise FolderError(f"{where}: no such variable; {declared_in} has: {', '.join(declared)}")


def _escaped(value: Any) -> Any:
    """Escape text for terraform, which would otherwise substitute ``${…}``."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, Mapping):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in value]
    return value
