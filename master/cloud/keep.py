"""The service beside the master on the fleet's head: copies records and logs away, keeps the ledger, ends the fleet.

A process of its own, so that a slow or dead archive never holds up a game. It ends with a reason when the fleet is to
end; whoever started it (systemd) then ends the fleet.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Final

from master.cloud import costs, spool
from master.cloud.archive import Archive, ArchiveError
from master.cloud.aws import AwsError
from master.cloud.cloud import Cloud
from master.cloud.costs import Ledger, LedgerError
from master.cloud.drained import Drained
from master.cloud.ending import EndRule
from master.cloud.prices import PriceBook
from master.cloud.spending import Spending
from master.cloud.spool import FileState
from master.logs.files import is_log
from worker.files import replace_file

STEP_S: Final = 5.0
_LEDGER_S: Final = 60.0
_LAST_COPIES_S: Final = 60.0
"""Seconds that the last copies may take; systemd's patience is longer."""
LAST_PAUSE_S: Final = 2.0
"""Seconds to wait before the last copies that failed are tried again."""
_SPOOL_FILE: Final = ".archived.json"
_LONGEST: Final = 1 << 30
"""Bytes from which on a file is not copied: it is read into memory."""

Tell = Callable[[str, dict[str, object]], None]


class Copies:
    """Copies what is new in a folder to an archive; see `master.cloud.spool`.

    Args:
        folder: of the records and logs.
        archive: gets game records below ``records/``, logs below ``logs/``.
    """

    def __init__(self, folder: Path, archive: Archive, tell: Tell) -> None:
        self._folder = folder
        self._archive = archive
        self._tell = tell
        self._too_large: set[str] = set()
        try:
            self._spool = spool.decode((folder / _SPOOL_FILE).read_bytes())
        except OSError:
            self._spool = spool.Spool()

    def step(self, now: float, *, last: bool = False, until: float | None = None) -> bool:
        """Copy what is due; False: some of it is left.

        Args:
            now: seconds since 1970.
            last: copy all that is new, and go on after a failure.
            until: a monotonic time at which to leave off.
        """
        files, arrived = self._files(), True
        for key in self._spool.due(files, now, last=last):
            if until is not None and time.monotonic() >= until:
                return False
            try:
                data = (self._folder / key).read_bytes()
            except OSError as error:
                self._tell("file_not_read", {"file": key, "why": str(error)})
                continue
            place = "logs" if is_log(key) else "records"
            try:
                self._archive.put(f"{place}/{key}", data)
            except ArchiveError as error:
                self._tell("file_not_archived", {"file": key, "why": str(error)})
                self._spool.failed(now)
                arrived = False
                if last:
                    continue
                break
            # What was written meanwhile differs from this state, and so is copied again.
            self._spool.done(key, files[key], now)
            self._save()
            self._tell("file_archived", {"file": key, "bytes": len(data)})
        return arrived

    def last_move(self) -> float | None:
        """The time at which a game record was last written, in seconds since 1970; None: there is none."""
        times = [state.changed_ns / 1e9 for key, state in self._files().items() if key.endswith(".csa")]
        return max(times, default=None)

    def _files(self) -> dict[str, FileState]:
        found = {}
        for path in self._folder.glob("*"):
            with suppress(OSError):  # it may go at any moment
                stat = path.stat()
                if path.name.startswith(".") or not path.is_file():
                    continue
                if stat.st_size < _LONGEST:
                    found[path.name] = FileState(stat.st_size, stat.st_mtime_ns)
                elif path.name not in self._too_large:
                    self._too_large.add(path.name)
                    self._tell("file_too_large", {"file": path.name, "bytes": stat.st_size, "most": _LONGEST - 1})
        return found

    def _save(self) -> None:
        try:
            replace_file(self._folder / _SPOOL_FILE, self._spool.encode())
        except OSError as error:
            self._tell("spool_not_saved", {"why": str(error)})  # after a crash, copied once more


class LedgerKeeper:
    """Looks at the fleet's machines and keeps the ledger in the archive.

    Args:
        fleet: its name.
        region: for the prices.
        given: on-demand prices that the user knows better.
    """

    def __init__(self, cloud: Cloud, archive: Archive, fleet: str, region: str, given: dict[str, float]) -> None:
        self._cloud = cloud
        self._archive = archive
        self._fleet = fleet
        self.book = PriceBook(cloud, region, given)
        self._ledger: Ledger | None = None
        self._head_launched: float | None = None
        self.usd_per_hour = 0.0
        """Cost an hour at the last look, as it counts for a price cap."""
        self.unpriced: frozenset[str] = frozenset()
        """Types that were there then, and whose prices are not known."""

    def look(self, now: float, head: str) -> Ledger:
        """The ledger as of now; `save` keeps it in the archive. ``head``: this machine's instance id.

        Raises:
            AwsError, ArchiveError: that failed; nothing is lost, for machines cost from their launch on.
        """
        ledger = self._read()
        machines = [each.facts for each in self._cloud.machines(self._fleet) if each.state in ("pending", "running")]
        table = self.book.prices({each.type for each in machines}, machines)
        # AWS's answer may lack a machine that is there: the head, which asks, was launched when it was launched.
        began = next((each.launched for each in machines if each.id == head), self._head_launched)
        if began is None:
            raise AwsError(f"EC2 instances: the head {head} is not among those of the fleet {self._fleet}")
        self._head_launched = began
        self.usd_per_hour = sum(map(table.for_cap, machines))
        self.unpriced = frozenset(each.type for each in machines if table.of(each) is None)
        self._ledger = costs.observed(ledger, machines, table, now, began)
        return self._ledger

    def save(self) -> None:
        """Keep the ledger of the last look. Raises ArchiveError."""
        if self._ledger is not None:
            self._archive.put(costs.KEY, self._ledger.encode())

    def end(self, why: str) -> None:
        """Say there why the fleet ended."""
        with suppress(ArchiveError):
            self._ledger = replace(self._read(), ended=why)
            self.save()

    def _read(self) -> Ledger:
        if self._ledger is None:
            # Looked for first: who may read just this object of a bucket gets no "not found", but a refusal.
            raw = self._archive.get(costs.KEY) if self._archive.keys(costs.KEY) else None
            try:
                self._ledger = costs.decode(raw) if raw is not None else Ledger()
            except LedgerError as error:
                raise ArchiveError(f"{self._archive.name}/{costs.KEY}: {error}") from error
        return self._ledger


def keep(
    copies: Copies,
    ledger: LedgerKeeper | None,
    head: str,
    rule: EndRule,
    tell: Tell,
    stop: Event,
    step_s: float = STEP_S,
    planned_usd_per_hour: float = 0.0,
    drained: Drained | None = None,
) -> str:
    """Run until the fleet is to end (returns why) or ``stop`` is set (returns ``""``); the last copies are made then.

    Args:
        ledger: None: nothing is counted, as where no cloud is.
        head: this machine's instance id; empty: it is none.
        step_s: between two looks at the folder.
        planned_usd_per_hour: what counts for the price cap while the machines cannot be looked at.
        drained: None: who waits for its end waits as long as the group's hook.
    """
    began = time.time()
    spending = Spending(planned_usd_per_hour, began)
    looked, why = -1e9, ""
    while not stop.is_set() and not why:
        now = time.time()
        copies.step(now)
        if drained is not None:
            drained.step(time.monotonic())
        if ledger is not None and time.monotonic() - looked >= _LEDGER_S:
            looked = time.monotonic()
            began = _look(ledger, head, spending, now, tell) or began
        why = rule.why(now, began, copies.last_move(), spending.usd_by(now))
        if not why:
            stop.wait(step_s)
    if why:
        tell("fleet_ends", {"why": why})
        if ledger is not None:
            ledger.end(why)
    _last_copies(copies, tell)
    return why


def _last_copies(copies: Copies, tell: Tell) -> None:
    until = time.monotonic() + _LAST_COPIES_S
    while not copies.step(time.time(), last=True, until=until):
        if time.monotonic() + LAST_PAUSE_S >= until:
            tell("not_all_archived", {})
            return
        time.sleep(LAST_PAUSE_S)


def _look(ledger: LedgerKeeper, head: str, spending: Spending, now: float, tell: Tell) -> float | None:
    """Look at the machines and keep the ledger. Returns since when this run is; None: that could not be seen."""
    unpriced = ledger.unpriced
    try:
        seen = ledger.look(now, head)
    except (AwsError, ArchiveError) as error:
        spending.failed += 1
        tell("machines_not_counted", {"why": str(error)})
        return None
    spending.looked(now, seen.run_usd, ledger.usd_per_hour)
    if ledger.unpriced - unpriced:
        tell("price_unknown", {"types": sorted(ledger.unpriced)})
    try:
        ledger.save()
    except ArchiveError as error:
        tell("ledger_not_kept", {"why": str(error)})
    return seen.run_began
