"""Simultaneous perturbation stochastic approximation, with fishtest's gains, as a pure state machine. Pure.

Source: J. C. Spall, "Implementation of the simultaneous perturbation algorithm for stochastic optimization", IEEE
Transactions on Aerospace and Electronic Systems 34 (1998). As in fishtest
(https://github.com/official-stockfish/fishtest), the gains are given by their last values, and rounding is random.

Iteration k perturbs every parameter at once, up or down by c_k, plays both vectors against each other, and moves each
parameter towards the side that scored more. It perturbs the vector after iteration k - `lag`, so that `lag` iterations
can be played at a time. Results may come in any order, and are applied in the order of their numbers. So the trajectory
follows from settings and results alone.

Usage::

    spsa = Spsa(settings)
    for k in spsa.open():                   # iterations that can be played now
        pair = spsa.suggest(k)              # play pair.plus against pair.minus
        spsa.take(k, points)                # points of plus minus those of minus
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ALPHA: Final = 0.602
GAMMA: Final = 0.101
"""Spall's exponents of the gains."""


class SpsaError(ValueError):
    """Invalid settings or an invalid result; the text says which."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter to tune: its first value, its range, and `step`, the perturbation at the last iteration (c_end)."""

    name: str
    start: float
    low: int
    high: int
    step: float

    def __post_init__(self) -> None:
        if not (self.low <= self.start <= self.high and self.low < self.high):
            raise SpsaError(f"{self.name} is {self.start:g}: expected within {self.low} to {self.high}")
        if not (math.isfinite(self.step) and self.step > 0):
            raise SpsaError(f"{self.name}: a step of {self.step:g}: expected more than 0")


@dataclass(frozen=True, slots=True)
class SpsaSettings:
    """The values that, besides the results, decide a trajectory."""

    parameters: tuple[Parameter, ...]
    iterations: int
    rate: float = 0.002
    """Fishtest's r_end: the share of its step by which the last iteration moves a parameter for a point won."""
    stability: float = 0.1
    """A, as a share of the iterations: keeps the first moves from being too large."""
    lag: int = 8
    """Iterations that can be played at a time."""
    seed: int = 1

    def __post_init__(self) -> None:
        names = [one.name for one in self.parameters]
        if not names:
            raise SpsaError("nothing is to be tuned")
        if len(set(names)) < len(names):
            raise SpsaError("a parameter is there twice")
        for name, value, least in (("iterations", self.iterations, 1), ("lag", self.lag, 1)):
            if value < least:
                raise SpsaError(f"{name} is {value}: expected {least} or more")
        for name, number in (("rate", self.rate), ("stability", self.stability)):
            if not (math.isfinite(number) and number >= 0):
                raise SpsaError(f"{name} is {number:g}: expected a number from 0 up")

    def steps(self, k: int) -> float:
        """c_k in steps, the same for every parameter; iterations are counted from 0."""
        return math.pow(self.iterations / (k + 1), GAMMA)

    def perturbation(self, parameter: Parameter, k: int) -> float:
        """c_k of a parameter."""
        return parameter.step * self.steps(k)

    def gain(self, parameter: Parameter, k: int) -> float:
        """The move of a parameter in iteration k for a point won: a_k / c_k."""
        ahead = self.stability * self.iterations
        a_end = self.rate * parameter.step**2
        a_k = a_end * math.pow((ahead + self.iterations) / (ahead + k + 1), ALPHA)
        return a_k / self.perturbation(parameter, k)


@dataclass(frozen=True, slots=True)
class Pair:
    """The vectors that iteration k compares, whole numbers in the order of the parameters."""

    plus: tuple[int, ...]
    minus: tuple[int, ...]
    flips: tuple[int, ...]
    """1 if `plus` is the upper value, else -1."""


class Spsa:
    """A tuning run: the iterations that can be played now, and the current parameters."""

    def __init__(self, settings: SpsaSettings) -> None:
        self.settings = settings
        self._path = [array("d", (one.start for one in settings.parameters))]
        self._waiting: dict[int, float] = {}
        # Over all iterations taken: points by the side that each parameter was on, weighted by the perturbation in
        # steps; the squares of these weights, and of the points.
        self._sums = array("d", (0.0 for _ in settings.parameters))
        self._weights = self._points = 0.0

    @property
    def path(self) -> Sequence[Sequence[float]]:
        """The vector before each finished iteration, and at the end the current one."""
        return self._path

    @property
    def theta(self) -> tuple[float, ...]:
        """The present vector."""
        return tuple(self._path[-1])

    @property
    def signals(self) -> tuple[float, ...]:
        """The lead of each parameter's upper values over its lower ones, in standard errors.

        If no parameter makes a difference, these are like normal draws: their root mean square is near 1.
        """
        if not self._points:
            return tuple(0.0 for _ in self._sums)
        error = math.sqrt(self._weights * self._points / self.taken)
        return tuple(one / error for one in self._sums)

    @property
    def taken(self) -> int:
        """Number of iterations whose results, and those of all earlier ones, are known."""
        return len(self._path) - 1

    @property
    def finished(self) -> bool:
        """Whether every iteration is taken."""
        return self.taken == self.settings.iterations

    def open(self) -> list[int]:
        """The iterations that can be played now and have no result, in order."""
        end = min(self.settings.iterations, self.taken + self.settings.lag)
        return [k for k in range(self.taken, end) if k not in self._waiting]

    def suggest(self, k: int) -> Pair:
        """The vectors of iteration k; the same on every call.

        Raises:
            SpsaError: it cannot be played yet.
        """
        settings = self.settings
        if not 0 <= k < min(settings.iterations, self.taken + settings.lag):
            raise SpsaError(f"iteration {k} cannot be played yet: {self.taken} are taken")
        rng = random.Random(f"{settings.seed}:{k}")
        base = self._path[max(0, k + 1 - settings.lag)]
        plus: list[int] = []
        minus: list[int] = []
        flips: list[int] = []
        for parameter, value in zip(settings.parameters, base, strict=True):
            flip = rng.choice((1, -1))
            # One draw for both: the vectors are then, on average, as far apart as they should be.
            chance = rng.random()
            reach = flip * settings.perturbation(parameter, k)
            for side, vector in ((reach, plus), (-reach, minus)):
                vector.append(math.floor(_within(parameter, value + side) + chance))
            flips.append(flip)
        return Pair(tuple(plus), tuple(minus), tuple(flips))

    def take(self, k: int, points: float) -> None:
        """Take the result of iteration k: points of `Pair.plus` minus those of `Pair.minus`, in games.

        Raises:
            SpsaError: it could not be played yet, or has its result; nothing changes.
        """
        if not math.isfinite(points):
            raise SpsaError(f"iteration {k}: a result of {points}")
        if k not in self.open():
            raise SpsaError(f"iteration {k} has its result, or cannot be played yet")
        self._waiting[k] = points
        while self.taken in self._waiting:
            self._move(self.taken, self._waiting.pop(self.taken))

    def _move(self, k: int, points: float) -> None:
        settings = self.settings
        flips = self.suggest(k).flips
        weight = settings.steps(k)
        for place, flip in enumerate(flips):
            self._sums[place] += flip * weight * points
        self._weights += weight**2
        self._points += points**2
        moved = (
            _within(one, value + settings.gain(one, k) * points * flip)
            for one, value, flip in zip(settings.parameters, self._path[-1], flips, strict=True)
        )
        self._path.append(array("d", moved))


def _within(parameter: Parameter, value: float) -> float:
    return min(max(value, parameter.low), parameter.high)
