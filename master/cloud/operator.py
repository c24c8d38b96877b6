"""The steps of ``gougi fleet`` on the operator's machine: by terraform and AWS."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.cloud import reports
from master.cloud.aws import named_region
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.folder import FleetFolder, FolderError
from master.cloud.plan import Facts, FleetLocation, FleetPlan, read_facts, read_plan
from master.cloud.player import check_player
from master.cloud.prices import Estimate, estimate, list_prices
from master.cloud.reports import MachineReport, ReportError
from master.cloud.terraform import Step, Terraform, find
from master.cloud.view import FleetStatus, status

if TYPE_CHECKING:
    from master.config import FleetConfig

_LOOK_S: Final = 5.0
_PLAN: Final = "fleet.tfplan"
"""The file of a plan, in the fleet's folder, between plan and apply of one command: it may hold secrets."""


class FleetDown(Exception):
    """There is no fleet; the text says so."""


class TooMuchChanges(Exception):
    """A plan changes more than the number of nodes; the text says what."""


class NotReady(Exception):
    """Not all nodes came in time; the text says what is known of it."""


class Operator:
    """One fleet.

    Args:
        settings: the section [fleet].
        config_file: of the master; None: the one to begin with.
    """

    def __init__(self, settings: FleetConfig, config_file: Path | None) -> None:
        self._settings = settings
        self._config_file = config_file
        self.folder = FleetFolder(Path(settings.folder).expanduser())
        self._terraform: Terraform | None = None
        self._clouds: dict[str | None, Cloud] = {}

    @property
    def terraform(self) -> Terraform:
        if self._terraform is None:
            region = {"AWS_REGION": self._settings.region} if self._settings.region else {}
            self._terraform = Terraform(find(self._settings.terraform), self.folder.path, region)
        return self._terraform

    def cloud(self, region: str | None = None) -> Cloud:
        """AWS in a region; None: that of the settings, else as AWS's tools find it."""
        region = region or self._settings.region or None
        return self._clouds.setdefault(region, Cloud(region))

    @contextmanager
    def alone(self, command: str) -> Iterator[None]:
        """Be the only operator of the fleet for a block, as `FleetFolder.locked` has it; plans do not outlive it."""
        plan = self.folder.path / _PLAN
        with self.folder.locked(command):
            plan.unlink(missing_ok=True)  # of a command that was killed
            try:
                yield
            finally:
                plan.unlink(missing_ok=True)

    def plan(self, nodes: int | None, *, rebuild: bool = False, tell: Callable[[str], None]) -> FleetPlan:
        """Plan the changes for a fleet of ``nodes`` nodes (None: as many as last time); `apply` makes them.

        Raises:
            FolderError, TerraformError, AwsError: that cannot be found out.
            LoginError: the player on the head could not log in.
        """
        _ = self.terraform  # that it is missing is said before anything is made
        for warning in self._check_player():
            tell(f"warning: {warning}")
        account = self.cloud().account()
        with self.folder.root_module_of_success():
            self.folder.prepare(self._settings, self._config_file, rebuild=rebuild)
            return self._planned(account, self.nodes(nodes), tell)

    def plan_size(self, nodes: int, tell: Callable[[str], None]) -> FleetPlan:
        """Plan another number of nodes for the fleet that there is. Raises as `plan`.

        Raises:
            FleetDown: there is no fleet.
            TooMuchChanges: the plan changes something else too.
        """
        self.facts()
        planned = self.plan(nodes, tell=tell)
        if more := planned.more_than_sizes:
            raise TooMuchChanges(
                f"with the number of nodes this would change {', '.join(more)}, which may end a running game: "
                f"gougi fleet up --nodes {nodes} shows it all, and asks"
            )
        return planned

    def _check_player(self) -> list[str]:
        """Warnings about the login of the player on the head, if the settings name one."""
        secret = self._settings.variables.get("csa_password_parameter", self._settings.csa_password_parameter)
        if self.folder.root_is_given or not secret:
            return []
        file = self.folder.config_file(self._settings, self._config_file)
        check_player(file, None)  # before AWS is asked
        return check_player(file, self.cloud().secret(secret))

    def nodes(self, asked: int | None) -> int:
        """The number of nodes that are wanted: as asked; else as last time; the first time as the settings say."""
        if asked is not None:
            return asked
        kept = self.folder.nodes
        return self._settings.nodes if kept is None else kept

    def estimate(self, nodes: int | None) -> Estimate:
        """Estimate the cost of an hour of a fleet of ``nodes`` nodes, without asking anybody.

        Raises:
            FolderError: the folder has a root module of its own, which the settings do not describe.
            AwsError, PriceUnknown: there is no region, or no price in it.
        """
        if self.folder.root_is_given:
            raise FolderError(
                f"{self.folder.path}: what its own root module (*.tf) would cost only terraform knows: "
                "leave out --offline"
            )
        return estimate(self._settings, self.nodes(nodes), named_region(self._settings.region))

    def plan_end(self, tell: Callable[[str], None]) -> FleetPlan:
        """Plan the end: everything would be destroyed. Raises as `plan`."""
        location = self.folder.location
        account = self.cloud(location.region if location else None).account()
        return self._planned(account, None, tell)

    def _planned(self, account: str, nodes: int | None, tell: Callable[[str], None]) -> FleetPlan:
        """Make the plan for ``nodes`` nodes (None: for the end), which is that of the next `apply`."""
        tell(f"account {account}, folder {self.folder.path}; terraform plans")
        self.terraform.init()
        given = {} if nodes is None else {"nodes": nodes}
        planned = read_plan(self.terraform.plan(_PLAN, given, destroy=nodes is None))
        return replace(planned, nodes=nodes)

    def apply(self, planned: FleetPlan, tell: Callable[[Step], None]) -> None:
        """Do what the plan that was made last says, to the letter; keep its number of nodes. Raises TerraformError."""
        # First: it may fail half-way. Then there are no outputs, and the next `up` goes on with what was agreed to.
        if planned.location is not None:
            self.folder.set_location(self.folder.keep_release(planned.location))
        if planned.nodes is not None:
            self.folder.set_nodes(planned.nodes)
        if not planned.empty:
            self.terraform.apply(_PLAN, tell)

    def facts(self) -> Facts:
        """The fleet that there is. Raises FleetDown, TerraformError."""
        output: dict[str, Any] = {}
        if self.folder.exists and (self.folder.path / ".terraform").exists():
            output = self.terraform.output().get("fleet") or {}
        if not output:
            raise FleetDown(f"there is no fleet in {self.folder.path}: gougi fleet up makes one")
        try:
            return read_facts(output)
        except KeyError as error:
            raise FolderError(
                f'{self.folder.path}: the root module\'s output "fleet" has no {error}: expected the whole module, '
                "value = module.fleet"
            ) from error

    def location(self) -> FleetLocation | None:
        """The location of the fleet, or of what an end that failed has left of it; None: nothing is known of one."""
        kept = self.folder.location
        with suppress(FleetDown):
            location = self.facts().location
            if kept is None:
                self.folder.set_location(location)
            return location
        return kept

    def status(self, facts: Facts) -> FleetStatus:
        """The status of the fleet. Raises AwsError."""
        where = facts.location
        machines = self.cloud(where.region).machines(where.name)
        types = {machine.type for machine in machines}
        prices = list_prices(types, where.region, self._settings.variables.get("usd_per_hour") or {})
        said = _reports(Bucket(where.bucket, where.name, where.region))
        return status(facts, machines, said, prices, time.time())

    def wait(self, facts: Facts, timeout_s: float, news: Callable[[FleetStatus, list[str]], None]) -> FleetStatus:
        """Wait until the head runs and all nodes are ready, where no master plays have joined, and no machine is there
        that should go.

        Args:
            news: gets the status every few seconds, with what the group has said meanwhile of why it cannot start some.

        Raises:
            NotReady: they are not.
        """
        since, deadline = datetime.now(UTC), time.monotonic() + timeout_s
        told: list[str] = []
        while True:
            now = self.status(facts)
            troubles = self.cloud(facts.location.region).troubles(facts.group, since)
            news(now, [trouble for trouble in troubles if trouble not in told])
            told = troubles
            nodes = sum(row.role == "node" and row.state not in ("shutting-down", "released") for row in now.rows)
            came = now.ready if facts.plays else now.joined
            if now.head_runs and came >= facts.nodes and nodes <= facts.nodes:
                return now
            if time.monotonic() >= deadline:
                raise NotReady(_missing(facts, now, troubles, timeout_s))
            time.sleep(_LOOK_S)


def _reports(bucket: Bucket) -> list[MachineReport]:
    found = []
    with ThreadPoolExecutor(16) as pool:
        for raw in pool.map(bucket.get, bucket.keys(reports.PREFIX)):
            with suppress(ReportError):
                if raw is not None:
                    found.append(reports.decode(raw))
    return found


def _missing(facts: Facts, now: FleetStatus, troubles: list[str], timeout_s: float) -> str:
    came, are = (now.ready, "are ready") if facts.plays else (now.joined, "have joined")
    lines = [f"{came} of {facts.nodes} nodes {are} after {timeout_s:.0f} s"]
    if not now.head_runs:
        lines.append(f"the head {facts.head} is {now.head}")
    lines += [f"{row.machine}: {row.state} {row.note}".rstrip() for row in now.rows if row.state != "ready"]
    lines += [f"{facts.group}: {trouble}" for trouble in troubles[:3]]
    return "\n".join([*lines, f"what the head says: {facts.session_command}"])
