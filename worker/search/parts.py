"""The parts of the search that can be switched off for a match: ``GOUGI_WITHOUT=probcut,singular gougi usi --single``.

A match measures how much a part gains (`docs/explanation/search.md`). Each constant says whether its part is on. A
search without some parts has its own compiled code, in its own cache folder (`worker.jit.cache`).
"""

from __future__ import annotations

from typing import Final

from worker.jit.options import WITHOUT

ALPHA_DEPTH: Final = "alpha_depth" not in WITHOUT
ASPIRATION: Final = "aspiration" not in WITHOUT
CAPTURE_HISTORY: Final = "capture_history" not in WITHOUT
CONTINUATION_HISTORY: Final = "continuation_history" not in WITHOUT
CORRECTION_HISTORY: Final = "correction_history" not in WITHOUT
DOUBLE_EXTENSION: Final = "double_extension" not in WITHOUT
FUTILITY: Final = "futility" not in WITHOUT
HINDSIGHT: Final = "hindsight" not in WITHOUT
HISTORY_PRUNING: Final = "history_pruning" not in WITHOUT
INTERNAL_REDUCTION: Final = "internal_reduction" not in WITHOUT
LATE_MOVE_PRUNING: Final = "late_move_pruning" not in WITHOUT
LATE_MOVE_REDUCTION: Final = "late_move_reduction" not in WITHOUT
MATE_IN_ONE: Final = "mate_in_one" not in WITHOUT
NULL_MOVE: Final = "null_move" not in WITHOUT
NULL_VERIFICATION: Final = "null_verification" not in WITHOUT
PAWN_HISTORY: Final = "pawn_history" not in WITHOUT
PRIOR_MOVE: Final = "prior_move" not in WITHOUT
PROBCUT: Final = "probcut" not in WITHOUT
QUIESCENCE_MATE: Final = "quiescence_mate" not in WITHOUT
REVERSE_FUTILITY: Final = "reverse_futility" not in WITHOUT
SAFE_CHECKS: Final = "safe_checks" not in WITHOUT
SEE_PRUNING: Final = "see_pruning" not in WITHOUT
SINGULAR: Final = "singular" not in WITHOUT
SMALL_PROBCUT: Final = "small_probcut" not in WITHOUT
SUPERIOR_POSITIONS: Final = "superior_positions" not in WITHOUT
TABLE_VERIFICATION: Final = "table_verification" not in WITHOUT
THREATS: Final = "threats" not in WITHOUT

PARTS: Final = tuple(name.lower() for name, value in list(globals().items()) if isinstance(value, bool))

if unknown := sorted(WITHOUT.difference(PARTS)):
    raise ImportError(f"GOUGI_WITHOUT names no part of the search: {', '.join(unknown)} (known: {', '.join(PARTS)})")
