"""The steps of ``gougi fleet`` on the operator's machine: with terraform and AWS."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from master.cloud import reports
from master.cloud.aws import AwsError, named_region
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.folder import FleetFolder, FolderError
from master.cloud.kept import InBucket, Kept, State, this_machine
from master.cloud.plan import Facts, FleetLocation, FleetPlan, read_facts, read_plan
from master.cloud.player import check_player
from master.cloud.prices import MEASURED, SIMULATED, Estimate, estimate, head_of, list_prices, vcpus
from master.cloud.remains import Remains, Thing, remains, things
from master.cloud.removal import remove
from master.cloud.reports import MachineReport, ReportError
from master.cloud.terraform import Step, Terraform, TerraformKilled, find
from master.cloud.view import FleetStatus, status
from worker.files import replace_file

if TYPE_CHECKING:
    from master.config import FleetConfig

_LOOK_S: Final = 5.0
_PLAN: Final = "fleet.tfplan"
"""The plan file in the fleet's folder, between plan and apply of one command. It may contain secrets."""


class FleetDown(Exception):
    """There is no fleet; the text says so."""


class Unknown(Exception):
    """AWS has resources of the fleet that are not in terraform's state; the text names the remedy."""


class TooMuchChanges(Exception):
    """A plan changes more than the number of nodes; the text lists the changes."""


class NotReady(Exception):
    """Not all nodes were ready in time; the text gives the known reasons."""


class Operator:
    """One fleet.

    Args:
        settings: the section [fleet].
        config_file: the master's configuration; None: the default one.
    """

    def __init__(self, settings: FleetConfig, config_file: Path | None) -> None:
        self._settings = settings
        self._config_file = config_file
        self.folder = FleetFolder(Path(settings.folder).expanduser())
        self._terraform: Terraform | None = None
        self._cloud = Cloud(settings.region or None)
        self._command = ""
        self._made = False

    @property
    def terraform(self) -> Terraform:
        if self._terraform is None:
            region = {"AWS_REGION": self._settings.region} if self._settings.region else {}
            program = find(self._settings.terraform)
            self._terraform = Terraform(program, self.folder.path, region, lambda: self.folder.lock)
        return self._terraform

    @cached_property
    def keeper(self) -> InBucket:
        """The store of the state and of the other kept facts. Raises AwsError."""
        return InBucket(self.cloud(), self._settings.name)

    def cloud(self) -> Cloud:
        """AWS in the region of the settings, else found as AWS's tools find it."""
        return self._cloud

    @contextmanager
    def alone(self, command: str, tell: Callable[[str], None]) -> Iterator[None]:
        """Be the only operator of the fleet for a block, as in `FleetFolder.locked`; plan files are removed at its end.

        Raises:
            KeptError: another machine works on the fleet.
        """
        plan = self.folder.path / _PLAN
        _ = self.terraform  # if it is missing, fail before anything is created
        with self.folder.locked(command, tell) as killed:
            self._command = command
            plan.unlink(missing_ok=True)  # left by a killed command
            if said := self.keeper.free(killed):
                tell(said)
            try:
                yield
            finally:
                plan.unlink(missing_ok=True)

    def plan(
        self, nodes: int | None, *, rebuild: bool = False, make: bool = False, tell: Callable[[str], None]
    ) -> FleetPlan:
        """Plan the changes for a fleet of ``nodes`` nodes (None: as many as last time); `apply` carries them out.

        Args:
            make: create the bucket for the state if there is none; `forget` undoes it.

        Raises:
            FolderError, TerraformError, AwsError, KeptError: the plan cannot be made.
            LoginError: the player on the head could not log in.
            Unknown: there is a fleet at AWS that is unknown here.
        """
        for warning in self._check_player():
            tell(f"warning: {warning}")
        account, kept = self.cloud().account(), self.keeper.read()
        wanted = self.nodes(nodes, kept)
        for warning in self._check_quota(wanted):
            tell(f"warning: {warning}")
        if wanted > MEASURED:
            how = "never tried" if wanted > SIMULATED else "only simulated"
            most = SIMULATED if wanted > SIMULATED else MEASURED
            tell(f"warning: fleets of more than {most} nodes were {how}: look at the head's load")
        strays = self.strays(self.keeper.state())
        if strays and not kept.at_work:
            raise Unknown(
                f"AWS has {things(strays)} of a fleet {self._settings.name}, and nothing is known of it here: "
                f"{', '.join(map(str, strays[:5]))}. gougi fleet down removes it, copies its games before, and asks; "
                "another fleet needs another [fleet] name"
            )
        self._made = make and self.keeper.make()
        with self.folder.root_module_of_success():
            self.folder.prepare(
                self._settings,
                self._config_file,
                rebuild=rebuild,
                there=kept.location,
                backend=self.keeper.backend(),
                fetch=lambda name, path: kept.location is not None and _fetch(kept.location, name, path),
            )
            planned = self._planned(account, wanted, tell)
        return replace(planned, strays=strays, killed=kept.at_work)

    def forget(self) -> None:
        """Remove the bucket for the state after the first plan was declined."""
        if self._made and not self.keeper.state().addresses:
            self.keeper.remove()

    def strays(self, state: State) -> tuple[Thing, ...]:
        """The fleet's resources at AWS that are not in terraform's state. Raises AwsError."""
        return self.look().beside(state.ids)

    def look(self, patience_s: float = 0.0) -> Remains:
        """The fleet's resources at AWS, except the bucket for the state. Raises AwsError."""
        location = self.keeper.read().location
        but = [self.keeper.name]
        if location is not None and not location.bucket_is_own:
            but.append(location.bucket)
        return remains(self.cloud(), self.name, patience_s, but)

    def remove(self, strays: tuple[Thing, ...], tell: Callable[[str], None]) -> None:
        """Remove resources unknown to terraform. Raises Unknown: some of them are left."""
        if left := remove(self.cloud(), strays, tell):
            raise Unknown(f"{things(left)} cannot be removed: {', '.join(map(str, left))}")

    def plan_size(self, nodes: int, tell: Callable[[str], None]) -> FleetPlan:
        """Plan another number of nodes for the existing fleet. Raises as `plan`.

        Raises:
            FleetDown: there is no fleet.
            TooMuchChanges: the plan also changes something else.
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
        if not secret:
            return []
        file = self.folder.config_file(self._settings, self._config_file)
        check_player(file, None)  # before any call to AWS
        return check_player(file, self.cloud().secret(secret))

    def _check_quota(self, nodes: int) -> list[str]:
        """Warnings if the account's vCPU quotas are too small even for this fleet of ``nodes`` nodes alone."""
        variables = self._settings.variables
        types = variables.get("instance_types", self._settings.instance_types)
        sizes = [vcpus(kind) for kind in (*types, head_of(variables, nodes))]
        if None in sizes:
            return []
        *each, head = (size for size in sizes if size is not None)
        on_demand = variables.get("on_demand_nodes")
        steady = nodes if on_demand is None else min(nodes, on_demand)
        needed = {False: head + steady * max(each), True: (nodes - steady) * max(each)}
        kinds = {False: "Running On-Demand Standard instances", True: "All Standard Spot Instance Requests"}
        found = []
        for spot, vcpu in needed.items():
            quota = self.cloud().quota(spot=spot) if vcpu else None
            if quota is not None and quota < vcpu:
                found.append(
                    f"the fleet needs {vcpu} vCPUs, and the account's quota in {self.cloud().region} is {quota}: ask "
                    f"for more at Service Quotas > Amazon EC2 > {kinds[spot]}, or for fewer or smaller machines"
                )
        return found

    def nodes(self, asked: int | None, kept: Kept) -> int:
        """The wanted number of nodes: the requested one, else that of last time, else that of the settings."""
        return next(number for number in (asked, kept.nodes, self._settings.nodes) if number is not None)

    def estimate(self, nodes: int | None) -> Estimate:
        """Estimate the cost of an hour of a fleet of ``nodes`` nodes, without network access.

        Raises:
            AwsError, PriceUnknown: there is no region, or no price in it.
        """
        return estimate(self._settings, self.nodes(nodes, Kept()), named_region(self._settings.region))

    def plan_end(self, tell: Callable[[str], None]) -> FleetPlan:
        """Plan the end: everything is destroyed. Raises as `plan`."""
        with self.folder.root_module_of_success():
            if not self.folder.exists:  # another machine created the fleet
                cloud = self.cloud()
                self.folder.prepare_end(cloud.region, self.keeper.backend(), cloud.is_stand_in)
            return self._planned(self.cloud().account(), self.keeper.read().nodes or 0, tell, end=True)

    def _planned(self, account: str, nodes: int, tell: Callable[[str], None], *, end: bool = False) -> FleetPlan:
        """Make the plan for ``nodes`` nodes or for the fleet's end. The next `apply` uses it."""
        tell(f"account {account}, folder {self.folder.path}; terraform plans")
        self.terraform.init()
        planned = read_plan(self.terraform.plan(_PLAN, {"nodes": nodes}, destroy=end))
        return replace(planned, nodes=None if end else nodes)

    def apply(self, planned: FleetPlan, tell: Callable[[Step], None]) -> None:
        """Apply exactly the plan that was made last; keep its number of nodes. Raises TerraformError."""
        # Written first: the apply may fail half-way. Then there are no outputs, and the next `up` continues.
        kept = self.keeper.read()
        if planned.location is not None:
            kept = replace(kept, location=self.folder.keep_release(planned.location))
        if planned.nodes is not None:
            kept = replace(kept, nodes=planned.nodes)
        if not planned.changes:
            self.keeper.write(replace(kept, at_work=""))
            return
        self.keeper.write(replace(kept, at_work=f"`{self._command}` ({this_machine()})"))
        try:
            self.terraform.apply(_PLAN, tell)
        except TerraformKilled:
            raise  # the note allows the next command to find the leftover resources
        except BaseException:
            self.keeper.write(replace(kept, at_work=""))
            raise
        self.keeper.write(replace(kept, at_work=""))
        if planned.location is not None and kept.nodes is not None:
            where = planned.location
            with suppress(AwsError):  # otherwise old ones are only shown once more
                Bucket(where.bucket, where.name, where.region).purge(reports.FAILURES)

    def facts(self) -> Facts:
        """The existing fleet. Raises FleetDown, Unknown, AwsError, KeptError, TerraformError."""
        if self.folder.path.exists() and not self.folder.path.is_dir():
            raise FolderError(f"{self.folder.path}: not a folder")
        state = self.keeper.state()
        output = state.output.get("fleet") or {}
        if not output:
            if strays := self.strays(state):
                lines = [*map(str, strays), f"{things(strays)} of a fleet {self.name}, of which nothing is known here"]
                raise Unknown("\n".join([*lines, "gougi fleet down removes them, copies its games before, and asks"]))
            raise FleetDown(f"there is no fleet {self.name} in {self.cloud().region}: gougi fleet up makes one")
        return read_facts(output)

    @property
    def name(self) -> str:
        """The fleet's name."""
        return self._settings.name

    def ended(self) -> None:
        """Note that nothing is left: keep only the number of nodes, for the next fleet."""
        if (kept := self.keeper.read()) != (empty := Kept(kept.nodes)):
            self.keeper.write(empty)

    def location(self) -> FleetLocation | None:
        """The location of the fleet, or of its remains after a failed end; None: no fleet is known."""
        if (kept := self.keeper.read()).location is not None:
            return kept.location
        if output := self.keeper.state().output.get("fleet"):
            location = read_facts(output).location
            self.keeper.write(replace(kept, location=location))
            return location
        return None

    def status(self, facts: Facts) -> FleetStatus:
        """The status of the fleet. Raises AwsError."""
        where = facts.location
        cloud, bucket = self.cloud(), Bucket(where.bucket, where.name, where.region)
        for service in ("ec2", "autoscaling"):
            cloud.service(service)  # boto3 can create clients on one thread only
        with ThreadPoolExecutor(16) as pool:
            machines = pool.submit(cloud.machines, where.name)
            held = pool.submit(cloud.is_held, facts.group)
            failures = list(pool.map(lambda key: (key, bucket.get(key)), bucket.keys(reports.FAILURES)))
            said = [raw for raw in pool.map(bucket.get, bucket.keys(reports.PREFIX)) if raw is not None]
        types = {machine.type for machine in machines.result()}
        prices = list_prices(types, where.region, self._settings.variables.get("usd_per_hour") or {})
        found = status(facts, machines.result(), _decoded(said), prices, time.time())
        return replace(found, failures=tuple(_failure(*each) for each in failures), held=held.result())

    def wait(self, facts: Facts, timeout_s: float, news: Callable[[FleetStatus, list[str]], None]) -> FleetStatus:
        """Wait until the head runs and all nodes are ready (joined, if no master plays), and no machine is left that
        should go.

        Args:
            news: callback every few seconds, with the status and the group's new reasons for failed starts.

        Raises:
            NotReady: the timeout has passed.
        """
        since, deadline = datetime.now(UTC), time.monotonic() + timeout_s
        told: list[str] = []
        while True:
            now = self.status(facts)
            troubles = self.cloud().troubles(facts.group, since)
            news(now, [trouble for trouble in troubles if trouble not in told])
            told = troubles
            nodes = sum(row.role == "node" and row.state not in ("shutting-down", "released") for row in now.rows)
            came = now.ready if facts.plays else now.joined
            if now.head_runs and came >= facts.nodes and nodes <= facts.nodes:
                return now
            if time.monotonic() >= deadline:
                raise NotReady(_missing(facts, now, troubles, timeout_s))
            time.sleep(_LOOK_S)


def _fetch(location: FleetLocation, name: str, path: Path) -> bool:
    """Download a release, named by the beginning of its hash, from the fleet's bucket."""
    bucket, digest = Bucket(location.bucket, location.name, location.region), Path(name).stem.partition("-")[2]
    for key in bucket.keys(f"release/{digest}"):
        if (data := bucket.get(key)) is not None:
            replace_file(path, data)
            return True
    return False


def _decoded(said: list[bytes]) -> list[MachineReport]:
    found = []
    for raw in said:
        with suppress(ReportError):
            found.append(reports.decode(raw))
    return found


def _failure(key: str, said: bytes | None) -> str:
    """``i-1 could not boot: …``, with the last line of its output."""
    lines = [line for line in (said or b"").decode(errors="replace").splitlines() if line.strip()]
    machine = key.removeprefix(reports.FAILURES).removesuffix(".txt")
    return f"{machine} could not boot: {lines[-1].strip()[:300] if lines else 'it said nothing'}"


def _missing(facts: Facts, now: FleetStatus, troubles: list[str], timeout_s: float) -> str:
    came, are = (now.ready, "are ready") if facts.plays else (now.joined, "have joined")
    lines = [f"{came} of {facts.nodes} nodes {are} after {timeout_s:.0f} s"]
    if not now.head_runs:
        lines.append(f"the head {facts.head} is {now.head}")
    lines += [f"{row.machine}: {row.state} {row.note}".rstrip() for row in now.rows if row.state != "ready"]
    lines += [f"{facts.group}: {trouble}" for trouble in troubles[:3]]
    lines += now.failures
    return "\n".join([*lines, f"the head's report: {facts.session_command}"])
