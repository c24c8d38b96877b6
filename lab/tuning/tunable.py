"""The ranges of search parameters that may be tuned (`worker.search.tuning`), and their selection by name.

A range goes from 0 to twice the value unless `_RANGES` has another one. A tenth of the value is the *step*: a change
that makes a small difference in games.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lab.tuning.spsa import Parameter, SpsaError
from worker.search import parameters
from worker.search.parameters import values_of
from worker.search.tuning import GROUPS, NAMES

_VALUES: Final = values_of(vars(parameters))
_RANGES: Final = {
    # Divisors: never 0.
    "REVERSE_CORRECTION": (45_000, 720_000, 18_000),
    "REDUCTION_CORRECTION": (6400, 102_400, 2560),
    "SINGULAR_CORRECTION": (52_000, 840_000, 21_000),
    "HISTORY_DEPTH": (800, 12_800, 320),
    "GOOD_CAPTURE": (5, 72, 2),
    "BONUS_STAT": (8, 128, 3),
    "PRIOR_STAT": (27, 432, 11),
    "NULL_DIVISOR": (1, 8, 0.5),
    "NULL_EVALUATION": (64, 2048, 25),
    # On both sides of 0, or near it.
    "DOUBLE_BASE": (-100, 100, 8),
    "TRIPLE_BASE": (-100, 250, 10),
    "NULL_SLOPE": (0, 48, 2),
    # If they are 0, more than a quarter of the tree is lost.
    "NULL_REDUCTION": (2, 12, 0.5),
    "PROBCUT_LESS": (2, 8, 0.5),
    "REDUCTION_LOG": (1000, 3500, 90),
}
"""Lowest value, highest value, step."""
_LEAST_STEP: Final = 0.5
"""A smaller step would be lost in rounding."""


def tunable(name: str) -> Parameter:
    """A parameter with its range. Raises SpsaError: it may not be tuned."""
    if name not in NAMES:
        raise SpsaError(f"{name} is no parameter to tune, and no group of them (groups: {', '.join(GROUPS)})")
    start = _VALUES[name]
    if name in _RANGES:
        low, high, step = _RANGES[name]
    else:
        low, high, step = min(0, 2 * start), max(0, 2 * start), max(_LEAST_STEP, abs(start) / 10)
    return Parameter(name, start, min(low, start), max(high, start), step)


def chosen(words: Iterable[str]) -> list[Parameter]:
    """The parameters that ``words`` name, in the order of `GROUPS`.

    Args:
        words: names of parameters and groups; ``NAME=LOW:HIGH`` or ``NAME=LOW:HIGH:STEP`` set a range.

    Raises:
        SpsaError: a word is none of these.
    """
    own: dict[str, Parameter] = {}
    names: set[str] = set()
    for word in words:
        name, equals, span = word.partition("=")
        if not equals and name in GROUPS:
            names.update(GROUPS[name])
            continue
        one = tunable(name)
        names.add(name)
        if equals:
            own[name] = _ranged(one, span.split(":"))
    if not names:
        raise SpsaError(f"nothing is to be tuned: name parameters or groups of them ({', '.join(GROUPS)})")
    return [own.get(name) or tunable(name) for name in NAMES if name in names]


def _ranged(one: Parameter, numbers: Sequence[str]) -> Parameter:
    try:
        low, high = map(int, numbers[:2])
        (step,) = map(float, numbers[2:] or (one.step,))
    except ValueError:
        raise SpsaError(f"{one.name}={':'.join(numbers)}: expected LOW:HIGH or LOW:HIGH:STEP") from None
    if step > high - low:
        raise SpsaError(f"{one.name}: a step of {step:g} does not fit into {low} to {high}")
    return Parameter(one.name, one.start, low, high, step)
