"""Costs of a game in real time: time, CPU seconds by kind of process, and other work on the machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

from cluster.lab.settings import LabError

KINDS: Final = ("nodes", "master", "fallback", "ray")
"""Kinds of a player's processes; the nursery counts as the master's."""


@dataclass(slots=True)
class RealFigures:
    """Costs of one side in a game, or in many, in its own searches; forced moves are left out."""

    asked_ms: int = 0
    """Summed over its searches: the time that they were given."""
    used_ms: float = 0.0
    """Time from request to answer, as a GUI would see it."""
    late_ms: float = 0.0
    """The most by which one of them was later than asked."""
    nodes_s: float = 0.0
    """CPU seconds of its node processes while it searched; of a player without a fleet, of all of it."""
    master_s: float = 0.0
    fallback_s: float = 0.0
    ray_s: float = 0.0
    idle_s: float = 0.0
    """CPU seconds of all its processes while the other side searched."""
    without_nodes: int = 0
    """Moves for which no node had an answer: the fallback's, or less."""
    starved: int = 0
    """Number of times that a node said that it does not get its core."""

    def add(self, other: RealFigures) -> None:
        for item in fields(self):
            mine, its = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, max(mine, its) if item.name == "late_ms" else mine + its)

    def rounded(self) -> dict[str, Any]:
        """As plain values, to the tenth of a millisecond."""
        return {
            item.name: value if isinstance(value := getattr(self, item.name), int) else round(value, 4)
            for item in fields(self)
        }

    @property
    def cpu_s(self) -> dict[str, float]:
        """CPU seconds by kind of process in a second of its searches."""
        searched_s = max(1e-9, self.used_ms / 1000)
        return {kind: getattr(self, f"{kind}_s") / searched_s for kind in KINDS}


@dataclass(frozen=True, slots=True)
class RealGame:
    """Facts of a game in real time, besides those of any game."""

    cores: tuple[int, ...]
    """Those of the machine on which A's processes ran."""
    cores_b: tuple[int, ...]
    """Cores of B; those of A, except where a side ponders."""
    seconds: float
    load_start: float
    """The machine's load over the last minute when the game began."""
    load_end: float
    others: float
    """Cores' worth of work on the game's cores that was of neither side, on average."""
    voids: int
    """Number of times that the game was begun before and was void: a process died."""
    a: RealFigures = field(default_factory=RealFigures)
    b: RealFigures = field(default_factory=RealFigures)

    def to_plain(self) -> dict[str, Any]:
        """The figures for the game's line of JSON."""
        return {
            "cores": list(self.cores),
            "cores_b": list(self.cores_b),
            "seconds": round(self.seconds, 3),
            "load_start": round(self.load_start, 2),
            "load_end": round(self.load_end, 2),
            "others": round(self.others, 3),
            "voids": self.voids,
            "a": self.a.rounded(),
            "b": self.b.rounded(),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> RealGame:
        """Read what `to_plain` gave. Raises LabError: it is something else; the text says what."""
        cores = [get(plain, name, list) for name in ("cores", "cores_b")]
        if not all(own and all(type(core) is int and core >= 0 for core in own) for own in cores):
            raise LabError(f"cores: expected numbers of cores, got {cores!r}"[:200])
        a, b = (
            RealFigures(**{item.name: get(side, item.name, type(item.default)) for item in fields(RealFigures)})
            for side in (get(plain, "a", dict), get(plain, "b", dict))
        )
        numbers = {name: get(plain, name, float) for name in ("seconds", "load_start", "load_end", "others")}
        return cls(tuple(cores[0]), tuple(cores[1]), **numbers, voids=get(plain, "voids", int), a=a, b=b)


def get(plain: dict[str, Any], key: str, kind: type[Any]) -> Any:
    """The value of ``key``; a whole number is a float too. Raises LabError: it is missing, or of another kind."""
    value = plain.get(key)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise LabError(f"{key}: expected {kind.__name__}, got {value!r}"[:200])
    return value
