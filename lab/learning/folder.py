"""The folder of a run of ``gougi learn``: its ledger, its nets, and a page for readers."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lab.learning.ledger import Generation, Kind, Ledger, LedgerError, from_json
from lab.learning.recipe import net_path, trained_path
from lab.match.statistics import Strength
from lab.run_folder import RunFolder
from worker.files import replace_file

_BEST: Final = "best.bin"


class LearnFolderError(Exception):
    """A folder does not belong to this run; the text gives the reason."""


class LearnFolder(RunFolder):
    """A folder with ``learn.json``, ``nets/``, ``best.bin``, ``nets.md``, and one for each generation."""

    command = "gougi learn"
    refused = LearnFolderError

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ledger_path = path / "learn.json"
        self.best_path = path / _BEST
        self.page_path = path / "nets.md"

    def open(self, first: bytes | None, default: bytes) -> Ledger:
        """The run's ledger: a new one if there is none.

        Args:
            first: the file of the net to begin with; None: ``default``, or the one with which the run began.

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
        """Continue a run of another machine, with its ledger and its best net, without its games.

        A last generation whose gate has not decided starts over: its games and nets are not here. If this folder's run
        began in this way, it continues.

        Args:
            history: the other run's ``learn.json``.
            best: file of its best net.
            default: file of the net with which it began.

        Raises:
            LearnFolderError: this folder has another run, or the nets do not match the ledger.
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
        """Write the ledger, each generation on one line, then the page. Raises OSError."""
        facts = ledger.as_json()
        generations = ",\n".join(json.dumps(one, ensure_ascii=False) for one in facts.pop("generations"))
        text = f'{json.dumps(facts)[:-1]}, "generations": [\n{generations}\n]}}\n'
        replace_file(self.ledger_path, text.encode(errors="backslashreplace"), to_disk=True)
        replace_file(self.page_path, page(ledger, str(self.path)).encode(errors="replace"))

    def with_games(self) -> frozenset[int]:
        """Numbers of the generations whose games are here, without those made by another machine."""
        games = self.path.glob(f"generation-*/{Kind.GAMES.value}")
        numbers = (path.parent.name.removeprefix("generation-") for path in games)
        return frozenset(int(number) for number in numbers if number.isdecimal())

    def with_nets(self) -> frozenset[int]:
        """Numbers of the generations whose nets are here, including 0, the first net."""
        numbers = (path.stem.removeprefix("generation-") for path in self.path.glob("nets/generation-*.bin"))
        return frozenset(int(number) for number in numbers if number.isdecimal())

    def promote(self, one: Generation) -> None:
        """Make a generation's net the best one. Raises OSError. Idempotent."""
        content = Path(trained_path(str(self.path), one)).read_bytes()
        self._keep_net(one.number, content)
        replace_file(self.best_path, content, to_disk=True)


def _digest(net: bytes) -> str:
    return hashlib.sha256(net).hexdigest()


_HEAD: Final = (
    "generation", "teacher", "games", "positions", "learned from", "loss", "integers, cp rms",
    "result loss", "gate: Elo", "", "hours",
)  # fmt: skip

_HEADING: Final = """# Networks

`gougi learn` writes this page. Generation 0 is the net that the run began with; a teacher's net plays the games, and
the gate is the match of the new net against it. Loss in nats; integers: how far the exported net is from the one in
floating point; result loss: how well it foretells the results of the teacher's games (nats; all positions, and those
from move 100 on). If several nets were trained, the gate is for their mean; loss and integers are those of the first.

"""


def page(ledger: Ledger, folder: str) -> str:
    """The page as Markdown: a table, the matches, and every command.

    Args:
        folder: as in the commands; the page leaves it out of them.
    """
    parts = [_HEADING, table(ledger), "\n"]
    if rows := _match_rows(ledger):
        parts += ["\n## Matches\n\nAt equal nodes, colours swapped, 95 % intervals.\n\n"]
        parts.append(_markdown(("generation", "against", "pace", "games", "won, drawn, lost", "score", "Elo"), rows))
        parts.append("\n")
    for one in ledger.generations:
        parts.append(f"\n## Recipe of generation {one.number}\n\n```sh\n")
        parts += [f"gougi {shlex.join(_short(word, folder) for word in step.command)}\n" for step in one.steps]
        parts.append("```\n")
        report = one.result(Kind.TRAIN)
        if report is not None:
            parts.append(f"\nnn.bin: SHA-256 `{one.sha256}`; win-rate scale {report['scale']:,.0f} centipawns.\n")
    return "".join(parts)


def _short(word: str, folder: str) -> str:
    """A command's word without the run's folder before its files."""
    name, equals, file = word.rpartition("=")
    return f"{name}{equals}{file.removeprefix(f'{folder}/')}"


def table(ledger: Ledger) -> str:
    """All generations, one per row, as a Markdown table."""
    return _markdown(_HEAD, [_row(one) for one in ledger.generations])


def _row(one: Generation) -> tuple[str, ...]:
    report = one.result(Kind.TRAIN)
    games = [made for kind in (Kind.GAMES, Kind.FROM_SPARRING) if (made := one.result(kind)) is not None]
    compared, gate = one.result(Kind.COMPARE), one.result(Kind.GATE)
    foretold = compared and compared.get("results_b")
    word = {True: "promoted", False: "refused", None: "under way"}[one.promoted]
    spent = one.spent_s + sum(step.spent_s for step in one.steps)
    return (
        str(one.number),
        str(one.teacher),
        f"{sum(made['games'] for made in games):,}" if games else "",
        f"{sum(made['positions'] for made in games):,}" if games else "",
        f"{report['training_positions']:,}" if report else "",
        f"{report['validation_loss']:.5f}" if report else "",
        f"{report['quantised_rms']:.1f}" if report else "",
        _foretold_text(foretold) if foretold else "",
        str(Strength.of_facts(gate)) if gate else "",
        word,
        f"{spent / 3600:.1f}",
    )


def _foretold_text(loss: Mapping[str, float | None]) -> str:
    late = loss.get("late")  # ledgers of earlier versions have this key
    return f"{loss['loss']:.4f}" + (f", {late:.4f}" if late is not None else "")


def _match_rows(ledger: Ledger) -> list[tuple[str, ...]]:
    return [
        (
            str(one.number), step.name, step.result["pace"], str(step.result["games"]),
            f"{step.result['wins']}, {step.result['draws']}, {step.result['losses']}", f"{step.result['score']:.1%}",
            str(Strength.of_facts(step.result)),
        )
        for one in ledger.generations
        for step in one.steps
        if step.kind is Kind.MATCH
    ]  # fmt: skip


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
