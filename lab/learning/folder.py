"""The folder of a run of ``gougi learn``: its ledger, its nets, and a page and a plot for readers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from lab.learning.ledger import Generation, Kind, Ledger, LedgerError, from_json
from lab.learning.page import page
from lab.learning.plot import plot
from lab.learning.recipe import net_path, trained_path
from lab.run_folder import RunFolder
from worker.files import replace_file

_BEST: Final = "best.bin"


class LearnFolderError(Exception):
    """A folder is not one of this run; the text says why."""


class LearnFolder(RunFolder):
    """A folder with ``learn.json``, ``nets/``, ``best.bin``, ``nets.md``, ``elo.svg``, and one for each generation."""

    command = "gougi learn"
    refused = LearnFolderError

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ledger_path = path / "learn.json"
        self.best_path = path / _BEST
        self.page_path = path / "nets.md"
        self.plot_path = path / "elo.svg"

    def open(self, first: bytes | None, default: bytes) -> Ledger:
        """The run's ledger: a new one where there is none.

        Args:
            first: the net to begin with, as its file; None: ``default``, or the one that the run began with.

        Raises:
            LearnFolderError: the ledger cannot be read, or the run began with another net.
            OSError: a file cannot be read or written.
        """
        if self.ledger_path.exists():
            ledger = self.read()
            if first is not None and _digest(first) != ledger.first:
                raise LearnFolderError(
                    f"{self.path} began with another net (SHA-256 {ledger.first}): choose another folder"
                )
            return ledger
        content = first if first is not None else default
        self._keep_net(0, content)
        replace_file(self.best_path, content, to_disk=True)
        ledger = Ledger(_digest(content))
        self.keep(ledger)
        return ledger

    def take_over(self, history: Path, best: bytes, default: bytes) -> Ledger:
        """Begin where a run of another machine ended, with its ledger and its best net, without its games.

        A last generation whose gate has not decided begins anew: its games and nets are not here. Where this folder's
        run began so, it goes on.

        Args:
            history: the other run's ``learn.json``.
            best: file of its best net.
            default: file of the net that it began with.

        Raises:
            LearnFolderError: this folder has another run, or the nets are not those of the ledger.
            OSError: a file cannot be read or written.
        """
        ledger = self._ledger(history).decided()
        if self.ledger_path.exists():
            own = self.read()
            if own.continues(ledger):
                return own
            raise LearnFolderError(f"{self.path} has a run that does not go on from {history}: choose another folder")
        one = ledger.generation(ledger.best)
        wanted = ledger.first if one is None else one.sha256
        if _digest(best) != wanted:
            raise LearnFolderError(f"--net is not the best net of {history}: its SHA-256 would be {wanted}")
        if _digest(default) != ledger.first:
            raise LearnFolderError(f"{history} began with another net (SHA-256 {ledger.first}), which is not here")
        self._keep_net(0, default)
        self._keep_net(ledger.best, best)
        replace_file(self.best_path, best, to_disk=True)
        self.keep(ledger)
        return ledger

    def _keep_net(self, number: int, content: bytes) -> None:
        net = Path(net_path(str(self.path), number))
        net.parent.mkdir(exist_ok=True)
        replace_file(net, content, to_disk=True)

    def read(self) -> Ledger:
        """The ledger. Raises LearnFolderError: it is missing or damaged; OSError."""
        if not self.ledger_path.exists():
            raise LearnFolderError(f"{self.path}: no run of gougi learn in it")
        return self._ledger(self.ledger_path)

    def _ledger(self, file: Path) -> Ledger:
        try:
            return from_json(self.known_facts(file))
        except LedgerError as error:
            raise LearnFolderError(f"{file}: {error}") from error

    def keep(self, ledger: Ledger) -> None:
        """Write the ledger, then the page and the plot. Raises OSError."""
        self.keep_facts(self.ledger_path, ledger.as_json())
        replace_file(self.page_path, page(ledger, str(self.path)).encode())
        replace_file(self.plot_path, plot(ledger).encode())

    def with_games(self) -> frozenset[int]:
        """Numbers of the generations whose games are here: not those that another machine made."""
        games = self.path.glob(f"generation-*/{Kind.GAMES.value}")
        return frozenset(int(path.parent.name.removeprefix("generation-")) for path in games)

    def with_nets(self) -> frozenset[int]:
        """Numbers of the generations whose nets are here, among them 0, the first net."""
        numbers = (path.stem.removeprefix("generation-") for path in self.path.glob("nets/generation-*.bin"))
        return frozenset(int(number) for number in numbers if number.isdecimal())

    def promote(self, one: Generation) -> None:
        """Let a generation's net be the best one. Raises OSError. Done twice it does no harm."""
        content = Path(trained_path(str(self.path), one)).read_bytes()
        self._keep_net(one.number, content)
        replace_file(self.best_path, content, to_disk=True)


def _digest(net: bytes) -> str:
    return hashlib.sha256(net).hexdigest()
