"""The parts of the search that a match can be played without: ``GOUGI_WITHOUT=probcut,singular gougi usi --single``.

A match measures how much a part is worth (`docs/explanation/search.md`). A part that is left out is not compiled at
all, and the compiled code goes to a cache folder of its own (`worker.jit.cache`).
"""

from __future__ import annotations

from typing import Final

from worker.jit.options import WITHOUT

PARTS: Final = (
    "alpha_depth",
    "aspiration",
    "blending",
    "capture_history",
    "continuation_history",
    "continuity",
    "correction_history",
    "deeper",
    "double_extension",
    "futility",
    "hindsight",
    "history_pruning",
    "internal_reduction",
    "late_move_pruning",
    "late_move_reduction",
    "low_ply_history",
    "mate_in_one",
    "multicut_correction",
    "null_move",
    "null_verification",
    "pawn_history",
    "prior_move",
    "probcut",
    "quiescence_mate",
    "razoring",
    "reverse_futility",
    "safe_checks",
    "see_pruning",
    "singular",
    "small_probcut",
    "superior_positions",
    "table_verification",
    "threats",
)

if unknown := sorted(WITHOUT.difference(PARTS)):
    raise ImportError(f"GOUGI_WITHOUT names no part of the search: {', '.join(unknown)} (known: {', '.join(PARTS)})")


def part(name: str) -> bool:
    """Whether a part of `PARTS` is in; a constant to compiled code."""
    if name not in PARTS:
        raise ValueError(f"no part of the search: {name!r}")
    return name not in WITHOUT
