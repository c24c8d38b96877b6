"""Search parameters that may be tuned, in groups, and their ranges.

The values are those of `worker.search.parameters`. A range goes from 0 to twice the value unless `_RANGES` says
otherwise, and a tenth of the value is the *step*: a change that makes a small difference in games.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from worker.search import parameters
from worker.search.vector import values_of

_GROUPS: Final = {
    "lmr": (
        "REDUCTION_LOG",
        "REDUCTION_BASE",
        "REDUCTION_WINDOW",
        "REDUCTION_NOT_IMPROVING[0]",
        "REDUCTION_FORMER_FIRST",
        "REDUCTION_FORMER",
        "REDUCTION_PV",
        "REDUCTION_FORMER_SCORE",
        "REDUCTION_FORMER_DEPTH",
        "REDUCTION_FORMER_CUT",
        "REDUCTION_LATE_BASE",
        "REDUCTION_NUMBER",
        "REDUCTION_CUT",
        "REDUCTION_CUT_NO_MOVE",
        "REDUCTION_TABLE_CAPTURE",
        "REDUCTION_CUTOFFS",
        "REDUCTION_MANY_CUTOFFS",
        "REDUCTION_CUTOFFS_ALL",
        "REDUCTION_TABLE_MOVE",
        "REDUCTION_HISTORY[0]",
        "REDUCTION_ALL[0]",
        "STAT_CAPTURE[0]",
        "DEEPER_MARGIN",
        "SHALLOWER_MARGIN",
        "FULL_NO_MOVE",
        "FULL_REDUCTION",
        "FULL_REDUCTION_TWICE",
    ),
    "margins": (
        "HINDSIGHT_SUM",
        "RAZOR_BASE",
        "RAZOR_SQUARE",
        "REVERSE_SLOPE",
        "REVERSE_SLOPE_GROWTH",
        "REVERSE_SLOPE_MOST",
        "REVERSE_SLOPE_MISS",
        "REVERSE_IMPROVING",
        "REVERSE_WORSENING",
        "NULL_SLOPE",
        "NULL_IMPROVING",
        "NULL_BASE",
        "NULL_EVALUATION",
        "PROBCUT_MARGIN",
        "PROBCUT_IMPROVING",
        "SMALL_PROBCUT_MARGIN",
        "CAPTURE_FUTILITY_BASE",
        "CAPTURE_FUTILITY_SLOPE",
        "CAPTURE_FUTILITY_HISTORY",
        "CAPTURE_SEE_SLOPE",
        "CAPTURE_SEE_HISTORY",
        "HISTORY_PRUNING",
        "HISTORY_DEPTH",
        "HISTORY_BUTTERFLY[0]",
        "QUIET_FUTILITY_BASE",
        "QUIET_FUTILITY_NO_BEST",
        "QUIET_FUTILITY_SLOPE",
        "QUIET_FUTILITY_ABOVE",
        "QUIET_SEE_SQUARE",
        "STAND_FUTILITY",
        "QUIESCENCE_SEE",
    ),
    "singular": (
        "SINGULAR_SLOPE",
        "SINGULAR_SLOPE_PV",
        "DOUBLE_BASE",
        "DOUBLE_PV",
        "DOUBLE_QUIET",
        "DOUBLE_DEEP",
        "DOUBLE_TABLE_HISTORY[0]",
        "TRIPLE_BASE",
        "TRIPLE_PV",
        "TRIPLE_QUIET",
        "TRIPLE_FORMER",
        "TRIPLE_DEEP",
        "MULTICUT_MALUS",
        "MULTICUT_CORRECTION",
    ),
    "order": (
        "CAPTURE_VALUE",
        "GOOD_CAPTURE",
        "CHECK_BONUS",
        "CHECK_SEE",
        "SORT_SLOPE",
        "GOOD_QUIET",
        "LOW_PLY_WEIGHT",
        "THREAT",
    ),
    "history": (
        "TABLE_BONUS",
        "TABLE_PRIOR_MALUS",
        "CHANGE_OFFSET",
        "CHANGE_BUTTERFLY",
        "CHANGE_PAWN",
        "RESEARCH_BONUS",
        "BONUS",
        "MALUS",
        "BONUS_TABLE_MOVE",
        "BONUS_STAT",
        "BONUS_QUIET",
        "BONUS_CAPTURE",
        "BONUS_TRIED",
        "MALUS_QUIET",
        "MALUS_QUIET_FADE",
        "MALUS_CAPTURE",
        "MALUS_PRIOR",
        "SHARE_LOW_PLY",
        "SHARE_CONTINUATION",
        "SHARE_PAWN_BONUS",
        "SHARE_PAWN_MALUS",
        "CONTINUATION",
        "CONTINUATION_FIRST",
        "TABLE_MOVE_BONUS",
        "TABLE_MOVE_MALUS",
        "PRIOR_BASE",
        "PRIOR_STAT",
        "PRIOR_DEPTH",
        "PRIOR_LATE",
        "PRIOR_BELOW",
        "PRIOR_BELOW_MARGIN",
        "PRIOR_ABOVE",
        "PRIOR_ABOVE_MARGIN",
        "PRIOR_BONUS",
        "PRIOR_CONTINUATION[0]",
        "PRIOR_BUTTERFLY[0]",
        "PRIOR_PAWN[0]",
        "PRIOR_CAPTURE",
    ),
    "correction": (
        "REVERSE_CORRECTION",
        "REDUCTION_CORRECTION",
        "SINGULAR_CORRECTION",
        "CORRECTION_PAWN",
        "CORRECTION_MINOR",
        "CORRECTION_PIECES",
        "CORRECTION_MOVES",
        "CORRECTION_BONUS",
        "CORRECTION_BONUS_SHARE",
        "CORRECTION_SHARE_MINOR",
        "CORRECTION_SHARE_PIECES",
        "CORRECTION_SHARE_TWO",
        "CORRECTION_SHARE_FOUR",
    ),
    "depths": (
        "TABLE_ANY_NODE_DEPTH",
        "TABLE_PRIOR_MOVES",
        "HINDSIGHT_DEEPER",
        "HINDSIGHT_SHALLOWER",
        "REVERSE_DEPTH",
        "NULL_REDUCTION",
        "NULL_DIVISOR",
        "NULL_VERIFY_DEPTH",
        "INTERNAL_DEPTH",
        "INTERNAL_PRIOR",
        "PROBCUT_DEPTH",
        "PROBCUT_LESS",
        "PROBCUT_LESS_IMPROVING",
        "SMALL_PROBCUT_LESS",
        "LATE_MOVES",
        "CAPTURE_FUTILITY_DEPTH",
        "QUIET_FUTILITY_DEPTH",
        "SINGULAR_DEPTH",
        "SINGULAR_TABLE_LESS",
        "ALPHA_DEPTHS",
        "ALPHA_LESS",
        "QUIET_MOVES",
        "PRIOR_LATE_MOVES",
    ),
}
"""By group its parameters; the name of a tuple stands for all of its values."""
_VALUES: Final = values_of(vars(parameters))
GROUPS: Final = {
    group: tuple(key for name in names for key in _VALUES if key == name or key.startswith(f"{name}["))
    for group, names in _GROUPS.items()
}
"""Parameters that are tuned together. ``depths`` has those that count plies or moves: one to a step, so they are
rough."""

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
    "SHALLOWER_MARGIN": (0, 40, 2),
    "NULL_SLOPE": (0, 48, 2),
    # More than a quarter of the tree is lost where they are 0.
    "NULL_REDUCTION": (2, 12, 0.5),
    "PROBCUT_LESS": (2, 8, 0.5),
    "REDUCTION_LOG": (1000, 3500, 90),
}
"""Least, most, step."""
_LEAST_STEP: Final = 0.5
"""A smaller one would be lost in rounding."""


@dataclass(frozen=True, slots=True)
class Tunable:
    """A parameter, the value that it has, its range, and the step: how far values are apart from each other in the end
    when games compare them."""

    name: str
    start: int
    low: int
    high: int
    step: float


class TunableError(ValueError):
    """A parameter cannot be tuned: it is not known, or its range is invalid; the text says which."""


def tunable(name: str) -> Tunable:
    """A parameter with its range. Raises TunableError: it may not be tuned."""
    if name not in NAMES:
        raise TunableError(f"{name} is no parameter to tune, and no group of them (groups: {', '.join(GROUPS)})")
    start = _VALUES[name]
    if name in _RANGES:
        low, high, step = _RANGES[name]
    else:
        low, high, step = min(0, 2 * start), max(0, 2 * start), max(_LEAST_STEP, abs(start) / 10)
    return Tunable(name, start, min(low, start), max(high, start), step)


def chosen(words: Iterable[str]) -> list[Tunable]:
    """The parameters that ``words`` name, in the order of `GROUPS`.

    Args:
        words: names of parameters and groups; ``NAME=LOW:HIGH`` or ``NAME=LOW:HIGH:STEP`` give a range of one's own.

    Raises:
        TunableError: a word is none of these.
    """
    own: dict[str, Tunable] = {}
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
        raise TunableError(f"nothing is to be tuned: name parameters or groups of them ({', '.join(GROUPS)})")
    return [own.get(name) or tunable(name) for name in NAMES if name in names]


def _ranged(one: Tunable, numbers: Sequence[str]) -> Tunable:
    try:
        low, high, *rest = numbers
        (step,) = rest or [str(one.step)]
        wanted = Tunable(one.name, one.start, int(low), int(high), float(step))
    except ValueError:
        raise TunableError(f"{one.name}={':'.join(numbers)}: expected LOW:HIGH or LOW:HIGH:STEP") from None
    if not wanted.low <= one.start <= wanted.high or wanted.low == wanted.high:
        raise TunableError(f"{one.name}: its value, {one.start}, is not within {low} to {high}")
    if not 0 < wanted.step <= wanted.high - wanted.low:
        raise TunableError(f"{one.name}: a step of {step} does not fit into {low} to {high}")
    return wanted


NAMES: Final = tuple(name for group in GROUPS.values() for name in group)
