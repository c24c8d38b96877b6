"""The numbers that shape the tree, with names and units: these are tuned.

Units: *cp*, centipawns; *plies*; *grain*, 1/1024 ply, in which reductions are counted; *history*, the unit of the table
in question, each with its own limit; *share*, 1/1024. The values began as those that Stockfish and YaneuraOu 9.70 have
published, and our own games have moved most of them since (`docs/notebook/search.md`, "Parameters by games").

Compiled code has them as constants. ``GOUGI_PARAMETERS=LATE_MOVES=4,BONUS[0]=130`` compiles a search with other values,
for a match; `worker.search.tuning` has the build whose values can change at run time (`docs/how-to/tuning.md`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from worker.jit.options import PARAMETERS

_ENTRY: Final = re.compile(r"\s*([A-Z][A-Z0-9_]*(?:\[\d+\])?)\s*=\s*(-?\d+)\s*", re.ASCII)
_MOST: Final = 1 << 31


class VectorError(ValueError):
    """A vector cannot be read, or names no parameter; the text says which entry."""


def values_of(constants: Mapping[str, Any]) -> dict[str, int]:
    """Every whole number among ``constants`` by its name; those in tuples as ``NAME[place]``."""
    found: dict[str, int] = {}
    for name, value in constants.items():
        if not name.isupper() or name.startswith("_"):
            continue
        if type(value) is int:
            found[name] = value
        elif type(value) is tuple:
            found |= {f"{name}[{place}]": one for place, one in enumerate(value)}
    return found


def parse_vector(text: str) -> dict[str, int]:
    """Read a vector. The empty text has no values.

    Raises:
        VectorError: an entry is not ``NAME=NUMBER``, or a name is there twice.
    """
    vector: dict[str, int] = {}
    for entry in filter(str.strip, text.split(",")):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise VectorError(f"{entry.strip()!r} is not NAME=NUMBER, such as LATE_MOVES=4")
        if match[1] in vector:
            raise VectorError(f"{match[1]} is there twice")
        if abs(int(match[2])) >= _MOST:
            raise VectorError(f"{match[1]}={match[2]} is too large")
        vector[match[1]] = int(match[2])
    return vector


def vector_text(vector: Mapping[str, int]) -> str:
    """A vector in the format that `parse_vector` reads."""
    return ",".join(f"{name}={value}" for name, value in vector.items())


def with_vector(constants: Mapping[str, Any], vector: Mapping[str, int]) -> dict[str, Any]:
    """Those of ``constants`` that ``vector`` changes, with their new values.

    Raises:
        VectorError: there is no parameter with that name.
    """
    known = values_of(constants)
    changed: dict[str, Any] = {}
    for key, value in vector.items():
        if key not in known:
            raise VectorError(f"no parameter of the search: {key}")
        name, _, place = key.partition("[")
        if not place:
            changed[name] = value
            continue
        at = int(place.rstrip("]"))
        before = changed.get(name, constants[name])
        changed[name] = (*before[:at], value, *before[at + 1 :])
    return changed


GRAIN: Final = 1024
"""Grains to a ply; parts to a whole for shares."""

# Aspiration (worker.search.thread), at the root.
WINDOW: Final = 5
"""cp: the least half width of the first window."""
WINDOW_SPREAD: Final = 9000
"""cp² to a cp: the divisor by which the mean square of the move's scores widens it."""
WINDOW_GROWTH: Final = 3
"""After a miss the window grows by its width divided by this."""

# Table (cut-offs).
TABLE_ANY_NODE_DEPTH: Final = 5
"""plies: above it a table score that fits the window cuts at any kind of node."""
TABLE_VERIFY_DEPTH: Final = 7
"""plies: from here on the entry after the table's move must agree with a cut-off."""
TABLE_BONUS: Final = (104, -72, 1066)
"""history: slope per ply, constant, most; for the quiet table move that cuts."""
TABLE_PRIOR_MALUS: Final = 2751
"""history: for the early quiet move that led to a table cut-off."""
TABLE_PRIOR_MOVES: Final = 4
"""Moves: a move counts as early up to this number."""

# Learning from the change of the evaluation about the previous quiet move.
CHANGE_RANGE: Final = (-214, 171)
"""cp: bounds of the change."""
CHANGE_OFFSET: Final = 42
"""cp, added to it."""
CHANGE_BUTTERFLY: Final = 9
CHANGE_PAWN: Final = 12
"""history per cp."""

# Hindsight: correcting the reduction of the previous move.
HINDSIGHT_DEEPER: Final = 3
HINDSIGHT_SHALLOWER: Final = 2
"""plies: least reduction of the previous move."""
HINDSIGHT_SUM: Final = 188
"""cp: sum of both sides' evaluations above which a shallower search is enough."""

# Reverse futility.
REVERSE_DEPTH: Final = 19
"""plies: only below this depth."""
REVERSE_SLOPE: Final = 47
REVERSE_SLOPE_GROWTH: Final = 4
REVERSE_SLOPE_MOST: Final = 92
REVERSE_SLOPE_MISS: Final = 13
"""cp per ply: constant; added for each ply of depth; largest; subtracted if the table does not have the position."""
REVERSE_IMPROVING: Final = 1276
REVERSE_WORSENING: Final = 299
"""share of the slope, subtracted from the margin."""
REVERSE_CORRECTION: Final = 150_648
"""correction per cp of margin."""

# Null move.
NULL_SLOPE: Final = 24
NULL_IMPROVING: Final = 51
NULL_BASE: Final = 288
"""cp: the evaluation must reach beta - slope * depth - improving + base."""
NULL_REDUCTION: Final = 7
NULL_DIVISOR: Final = 3
NULL_EVALUATION: Final = 274
"""plies; plies of depth per extra ply; cp of evaluation above beta per extra ply."""
NULL_VERIFY_DEPTH: Final = 16
"""plies: from here on a null move's cut-off is verified."""

# Internal reduction: no table move at a node that matters.
INTERNAL_DEPTH: Final = 6
INTERNAL_PRIOR: Final = 3
"""plies; the largest reduction of the previous move."""

# ProbCut.
PROBCUT_DEPTH: Final = 3
PROBCUT_LESS: Final = 3
PROBCUT_LESS_IMPROVING: Final = 2
"""plies: least depth; how much shallower its search is; how much more if the side is improving."""
PROBCUT_MARGIN: Final = 275
PROBCUT_IMPROVING: Final = 63
SMALL_PROBCUT_MARGIN: Final = 330
"""cp above beta."""
SMALL_PROBCUT_LESS: Final = 4
"""plies that the table's entry may be shallower."""

# Late-move pruning, futility, exchanges.
LATE_MOVES: Final = 3
"""Moves, plus the square of the depth; half of that if the side is not improving."""
CAPTURE_FUTILITY_DEPTH: Final = 7
CAPTURE_FUTILITY_BASE: Final = 260
CAPTURE_FUTILITY_SLOPE: Final = 212
"""plies of reduced depth; cp; cp per ply."""
CAPTURE_FUTILITY_HISTORY: Final = 147
"""cp per 1024 history."""
CAPTURE_SEE_SLOPE: Final = 99
CAPTURE_SEE_HISTORY: Final = 42
"""cp per ply; cp per 1024 history."""
HISTORY_PRUNING: Final = 3611
"""history per ply."""
HISTORY_DEPTH: Final = 4442
"""history per ply of reduced depth."""
HISTORY_BUTTERFLY: Final = (54, 32)
"""Weight of the butterfly history in it, as a fraction."""
QUIET_FUTILITY_DEPTH: Final = 13
QUIET_FUTILITY_BASE: Final = 39
QUIET_FUTILITY_NO_BEST: Final = 121
QUIET_FUTILITY_SLOPE: Final = 109
QUIET_FUTILITY_ABOVE: Final = 98
"""plies; cp; cp if no move has raised alpha; cp per ply; cp if the evaluation is above alpha."""
QUIET_SEE_SQUARE: Final = 18
"""cp per square ply."""

# Singular extensions.
SINGULAR_DEPTH: Final = 6
SINGULAR_TABLE_LESS: Final = 3
"""plies: least depth (one more on a former line); how much shallower the table's entry may be."""
SINGULAR_SLOPE: Final = 43
SINGULAR_SLOPE_PV: Final = 58
SINGULAR_DIVISOR: Final = 55
"""cp per ``SINGULAR_DIVISOR`` plies; added if a former line is met off the current line."""
DOUBLE_BASE: Final = 2
DOUBLE_PV: Final = 279
DOUBLE_QUIET: Final = 179
DOUBLE_DEEP: Final = 42
DOUBLE_TABLE_HISTORY: Final = (713, 116_517)
TRIPLE_BASE: Final = 84
TRIPLE_PV: Final = 385
TRIPLE_QUIET: Final = 208
TRIPLE_FORMER: Final = 112
TRIPLE_DEEP: Final = 50
"""cp below the bar for a second and a third ply: constant; added on the line; subtracted with a quiet table move;
subtracted beyond the root's depth."""
SINGULAR_CORRECTION: Final = 183_603
"""correction per cp."""
MULTICUT_MALUS: Final = (-425, -93, -3668)
"""history: constant, per ply, least; for a table move if other moves are as good."""
NEGATIVE_HIGH: Final = -3
NEGATIVE_CUT: Final = -2
"""plies: if the table move is not singular, and its score is above beta or a cut is expected."""

# Late-move reductions: grains.
REDUCTION_LOG: Final = 2454
"""Hundredths of the square root of grains per ln(depth) and per ln(number)."""
REDUCTION_BASE: Final = 1633
REDUCTION_WINDOW: Final = 628
"""Subtracted, times this window's share of the root's."""
REDUCTION_NOT_IMPROVING: Final = (188, 512)
"""Share of the product of logarithms, as a fraction."""
REDUCTION_FORMER_FIRST: Final = 894
"""Added on a former line when pruning is decided."""
REDUCTION_FORMER: Final = 3690
REDUCTION_PV: Final = 864
REDUCTION_FORMER_SCORE: Final = 1003
REDUCTION_FORMER_DEPTH: Final = 1233
REDUCTION_FORMER_CUT: Final = 1273
REDUCTION_LATE_BASE: Final = 588
REDUCTION_NUMBER: Final = 67
REDUCTION_CORRECTION: Final = 32_491
"""correction per grain."""
REDUCTION_CUT: Final = 3331
REDUCTION_CUT_NO_MOVE: Final = 1181
REDUCTION_TABLE_CAPTURE: Final = 806
REDUCTION_CUTOFFS: Final = 270
REDUCTION_MANY_CUTOFFS: Final = 1425
REDUCTION_CUTOFFS_ALL: Final = 1270
REDUCTION_TABLE_MOVE: Final = 2060
REDUCTION_HISTORY: Final = (337, 4096)
"""grains per history, as a fraction."""
REDUCTION_ALL: Final = (237, 256, 260)
"""At all-nodes a reduction r grows by r * [0] / ([1] * depth + [2])."""
STAT_CAPTURE: Final = (877, 128)
"""history per cp of the captured piece, as a fraction."""
RESEARCH_BONUS: Final = 1283
"""history: for a move that a reduced search found good."""
FULL_NO_MOVE: Final = 860
FULL_REDUCTION: Final = 3918
FULL_REDUCTION_TWICE: Final = 4246
"""grains: if a move is not reduced for its number, it loses a ply above each of these."""
ALPHA_DEPTHS: Final = (2, 14)
ALPHA_LESS: Final = 2
"""plies: strictly between these depths, the moves after one that raised alpha are searched this much shallower."""

# Quiescence.
QUIET_MOVES: Final = 2
"""Moves: later ones only if they check or recapture."""
STAND_FUTILITY: Final = 287
QUIESCENCE_SEE: Final = -71
"""cp."""

# Order.
CAPTURE_VALUE: Final = 6
"""history per cp of the captured piece."""
GOOD_CAPTURE: Final = 20
"""score per cp that a capture may lose and still come early."""
CHECK_BONUS: Final = 19_605
CHECK_SEE: Final = -67
"""history; cp that a check may lose."""
SORT_SLOPE: Final = 3973
"""history per ply: quiet moves are sorted down to minus this."""
GOOD_QUIET: Final = -11_852
"""history: quiet moves below it come after the losing captures."""
THREAT: Final = (1036, 3153, 7499)
"""history: subtracted from a quiet move that puts a lance or knight on a square attacked by a pawn; a silver, gold or
promoted piece on one attacked by a pawn, lance or knight; a bishop, rook, horse or dragon on one attacked by any of
these or by a silver or gold. Added to a move that leaves such a square."""

# Learning: history.
BONUS: Final = (137, -41, 1589)
MALUS: Final = (684, -217, 1518)
"""Slope per ply, constant, most."""
BONUS_TABLE_MOVE: Final = 353
BONUS_STAT: Final = 38
"""Statistics of the previous move per unit of bonus."""
BONUS_QUIET: Final = 812
BONUS_CAPTURE: Final = 1420
BONUS_TRIED: Final = 3
MALUS_QUIET: Final = 1306
MALUS_QUIET_FADE: Final = 1051
MALUS_CAPTURE: Final = 1142
MALUS_PRIOR: Final = 671
"""share."""
SHARE_CONTINUATION: Final = 1028
SHARE_PAWN_BONUS: Final = 948
SHARE_PAWN_MALUS: Final = 522
"""the other tables' share of a quiet move's bonus."""
CONTINUATION: Final = (1252, 805, 223, 626, 182, 513)
"""share by plies back, from 1 on."""
CONTINUATION_FIRST: Final = 103
"""history, always added at one ply back."""
TABLE_MOVE_BONUS: Final = 701
TABLE_MOVE_MALUS: Final = 954
PRIOR_BASE: Final = -236
PRIOR_STAT: Final = 117
PRIOR_DEPTH: Final = (92, 482)
PRIOR_LATE: Final = 193
PRIOR_LATE_MOVES: Final = 8
PRIOR_BELOW: Final = 141
PRIOR_BELOW_MARGIN: Final = 116
PRIOR_ABOVE: Final = 152
PRIOR_ABOVE_MARGIN: Final = 86
"""Scale of the bonus for the previous quiet move if no move here was good enough; margins in cp."""
PRIOR_BONUS: Final = (163, -105, 1176)
PRIOR_CONTINUATION: Final = (288, 16_384)
PRIOR_BUTTERFLY: Final = (274, 32_768)
PRIOR_PAWN: Final = (347, 8192)
PRIOR_CAPTURE: Final = 1092

# Correction of the evaluation: correction is 1/131072 cp.
CORRECTION_UNIT: Final = 131_072
CORRECTION_PAWN: Final = 9907
CORRECTION_MINOR: Final = 11_379
CORRECTION_PIECES: Final = 16_423
CORRECTION_MOVES: Final = 9483
"""correction per unit of an entry."""
CORRECTION_NO_MOVE: Final = 8
"""Replaces the two entries of moves after a null move."""
CORRECTION_BONUS: Final = (16, 15)
CORRECTION_DEPTH: Final = 128
"""An entry moves by difference * depth * the first (with a best move) or second / this."""
CORRECTION_BONUS_SHARE: Final = 1175
CORRECTION_SHARE_MINOR: Final = 143
CORRECTION_SHARE_PIECES: Final = 204
CORRECTION_SHARE_TWO: Final = 121
CORRECTION_SHARE_FOUR: Final = 83
CORRECTION_SHARES: Final = 128
"""share, in 128ths."""

try:
    globals().update(with_vector(globals(), parse_vector(PARAMETERS)))
except VectorError as error:
    raise ImportError(f"GOUGI_PARAMETERS: {error}") from error
