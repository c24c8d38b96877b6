"""Records of a run of ``gougi learn``: its generations, and each command run for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

VERSION: Final = 2
_SURE: Final = 0.95
"""A gate without a decision promotes the new net if it is stronger with this probability."""


class Kind(StrEnum):
    """Steps of a generation, in their order."""

    SPARRING = "sparring"
    """A match of the best net against another engine; only if one is named."""
    GAMES = "games"
    FROM_SPARRING = "from-sparring"
    """Games from positions of the sparring match."""
    TRAIN = "train"
    BLEND = "blend"
    """The mean of the nets; only if several were trained."""
    ATTACKS = "attacks"
    """An attack network for the trained net, or for the mean; only if the run has attack networks."""
    COMPARE = "compare"
    GATE = "gate"
    MATCH = "match"
    """Against an opponent; only for promoted nets."""


class LedgerError(ValueError):
    """The text is not a ledger of this version; the message gives the fault."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished step.

    Attributes:
        kind: kind of the step.
        name: distinguishes steps of one kind: a match's opponent; a training's number, from the second one on.
        command: words after ``gougi``.
        spent_s: wall time, interrupted runs included.
        result: the command's JSON.
    """

    kind: Kind
    name: str
    command: tuple[str, ...]
    spent_s: float
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of the loop.

    Attributes:
        number: from 1.
        teacher: number of the generation whose net makes the games and defends the gate; 0: the first net.
        steps: the finished ones, in the order in which they ended.
        spent_s: wall time of the current step, from interrupted runs.
    """

    number: int
    teacher: int
    steps: tuple[Done, ...] = ()
    spent_s: float = 0.0

    def result(self, kind: Kind, name: str = "") -> Mapping[str, Any] | None:
        """The JSON of a step's command; None: the step is not finished."""
        found = [one.result for one in self.steps if (one.kind, one.name) == (kind, name)]
        return found[0] if found else None

    @property
    def trainings(self) -> tuple[str, ...]:
        """Names of the finished trainings."""
        return tuple(one.name for one in self.steps if one.kind is Kind.TRAIN)

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the net that goes to the gate, hexadecimal; None: it is not trained yet."""
        made = None if self.last_made is None else self.result(self.last_made)
        return None if made is None else str(made["sha256"])

    @property
    def last_made(self) -> Kind | None:
        """The step that has made the latest of its nets; None: none is trained yet."""
        made = (Kind.ATTACKS, Kind.BLEND, Kind.TRAIN)
        return next((kind for kind in made if self.result(kind) is not None), None)

    @property
    def open_after(self) -> int | None:
        """Number of games after which the net was refused without a verdict of the gate's test; None: not the case."""
        gate = self.result(Kind.GATE)
        stands_open = gate is not None and gate["sprt"]["verdict"] == "open" and not self.promoted
        return int(gate["games"]) if gate is not None and stands_open else None

    @property
    def promoted(self) -> bool | None:
        """Whether the gate promoted the net; None: not decided yet."""
        gate = self.result(Kind.GATE)
        if gate is None:
            return None
        verdict = gate["sprt"]["verdict"]
        return bool(verdict == "H1" or (verdict == "open" and gate["los"] >= _SURE))


@dataclass(frozen=True, slots=True)
class Ledger:
    """A whole run.

    Attributes:
        first: SHA-256 of the net with which the run begins.
    """

    first: str
    generations: tuple[Generation, ...] = field(default=())

    @property
    def best(self) -> int:
        """Number of the generation whose net was promoted last; 0: none was."""
        return max((one.number for one in self.generations if one.promoted), default=0)

    @property
    def spent_s(self) -> float:
        """Wall time of all steps, interrupted runs included."""
        return sum(one.spent_s + sum(step.spent_s for step in one.steps) for one in self.generations)

    def generation(self, number: int) -> Generation | None:
        """The generation of this number; None: not begun."""
        return self.generations[number - 1] if 0 < number <= len(self.generations) else None

    def continues(self, other: Ledger) -> bool:
        """Whether this run is ``other``, or a continuation of it."""
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
        """With the time of an interrupted step."""
        one = self.generations[number - 1]
        return self._with(replace(one, spent_s=one.spent_s + seconds))

    def with_step(self, number: int, done: Done) -> Ledger:
        """With a finished step; the time of its earlier runs is added to its own.

        It replaces a step of the same kind and name: an undecided gate.
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
    """Read the output of `Ledger.as_json`.

    Raises:
        LedgerError: it is not a ledger.
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
