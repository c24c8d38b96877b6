"""Records of a run of ``gougi learn``: its generations, and each command that was run for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

VERSION: Final = 2
_SURE: Final = 0.95
"""A gate without a decision promotes where the new net is stronger with this probability."""


class Kind(StrEnum):
    """Steps of a generation, in their order."""

    GAMES = "games"
    TRAIN = "train"
    BLEND = "blend"
    """The mean of the nets; only where several were trained."""
    COMPARE = "compare"
    GATE = "gate"
    MATCH = "match"
    """Against an opponent; only of nets that were promoted."""


class LedgerError(ValueError):
    """Text is no ledger of this version; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Done:
    """A step that is over.

    Attributes:
        kind: which step.
        name: tells steps of one kind apart: a match's other side; a training's number, from the second one on.
        command: words after ``gougi``.
        spent_s: wall time, pieces that were broken off included.
        result: the command's JSON.
    """

    kind: Kind
    name: str
    command: tuple[str, ...]
    spent_s: float
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Generation:
    """One turn of the loop.

    Attributes:
        number: from 1.
        teacher: number of the generation whose net makes the games, and which the gate defends; 0: the first net.
        steps: those that are over, in the order in which they ended.
        spent_s: wall time of the step under way, from pieces that were broken off.
    """

    number: int
    teacher: int
    steps: tuple[Done, ...] = ()
    spent_s: float = 0.0

    def result(self, kind: Kind, name: str = "") -> Mapping[str, Any] | None:
        """The JSON of a step's command; None: the step is not over."""
        found = [one.result for one in self.steps if (one.kind, one.name) == (kind, name)]
        return found[0] if found else None

    @property
    def trainings(self) -> tuple[str, ...]:
        """Names of the trainings that are over."""
        return tuple(one.name for one in self.steps if one.kind is Kind.TRAIN)

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the net that goes to the gate, hexadecimal; None: it is not trained."""
        made = self.result(Kind.BLEND) or self.result(Kind.TRAIN)
        return None if made is None else str(made["sha256"])

    @property
    def open_after(self) -> int | None:
        """Games after which the gate's test had no verdict, and the net was refused; None: that is not so."""
        gate = self.result(Kind.GATE)
        stands_open = gate is not None and gate["sprt"]["verdict"] == "open" and not self.promoted
        return int(gate["games"]) if gate is not None and stands_open else None

    @property
    def promoted(self) -> bool | None:
        """Whether the gate let the net through; None: it has not decided."""
        gate = self.result(Kind.GATE)
        if gate is None:
            return None
        verdict = gate["sprt"]["verdict"]
        return bool(verdict == "H1" or (verdict == "open" and gate["los"] >= _SURE))


@dataclass(frozen=True, slots=True)
class Ledger:
    """A whole run.

    Attributes:
        first: SHA-256 of the net that the run begins with.
    """

    first: str
    generations: tuple[Generation, ...] = field(default=())

    @property
    def best(self) -> int:
        """Number of the generation whose net was promoted last; 0: none was."""
        return max((one.number for one in self.generations if one.promoted), default=0)

    @property
    def spent_s(self) -> float:
        """Wall time of all steps, of broken pieces too."""
        return sum(one.spent_s + sum(step.spent_s for step in one.steps) for one in self.generations)

    def generation(self, number: int) -> Generation | None:
        """The generation of this number; None: not begun."""
        return self.generations[number - 1] if 0 < number <= len(self.generations) else None

    def continues(self, other: Ledger) -> bool:
        """Whether this run is ``other``, or has gone on from it."""
        pairs = zip(self.generations, other.generations, strict=False)
        return (
            self.first == other.first
            and len(self.generations) >= len(other.generations)
            and all(theirs.sha256 in (None, mine.sha256) for mine, theirs in pairs)
        )

    def decided(self) -> Ledger:
        """Without a last generation whose gate has not decided."""
        over = tuple(one for one in self.generations if one.promoted is not None)
        return replace(self, generations=over)

    def begun(self, number: int) -> Ledger:
        """With the generation of this number, the next one, begun; unchanged if it was begun before."""
        if self.generation(number) is not None:
            return self
        return replace(self, generations=(*self.generations, Generation(number, self.best)))

    def with_piece(self, number: int, seconds: float) -> Ledger:
        """With the time of a step that was broken off."""
        one = self.generations[number - 1]
        return self._with(replace(one, spent_s=one.spent_s + seconds))

    def with_step(self, number: int, done: Done) -> Ledger:
        """With a step that is over; the time of its earlier pieces is added to its own.

        A step of the same kind and name, a gate that stood open, is replaced.
        """
        one = self.generations[number - 1]
        before = [step for step in one.steps if (step.kind, step.name) == (done.kind, done.name)]
        rest = tuple(step for step in one.steps if step not in before)
        spent_s = done.spent_s + one.spent_s + sum(step.spent_s for step in before)
        return self._with(replace(one, steps=(*rest, replace(done, spent_s=spent_s)), spent_s=0.0))

    def _with(self, one: Generation) -> Ledger:
        rest = self.generations
        return replace(self, generations=(*rest[: one.number - 1], one, *rest[one.number :]))

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `from_json`."""
        return {"version": VERSION, **asdict(self)}


def from_json(values: Any) -> Ledger:
    """Read what `Ledger.as_json` wrote.

    Raises:
        LedgerError: it is none.
    """
    version = values.get("version") if isinstance(values, dict) else None
    if version != VERSION:
        raise LedgerError(f"no ledger of gougi learn: version {version!r}, expected {VERSION}")
    try:
        ledger = msgspec.convert(values, Ledger)
    except msgspec.ValidationError as error:
        raise LedgerError(f"no ledger of gougi learn: {error}") from error
    if [one.number for one in ledger.generations] != list(range(1, len(ledger.generations) + 1)):
        raise LedgerError("its generations are not numbered from 1")
    return ledger
