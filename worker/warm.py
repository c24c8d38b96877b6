"""Compile everything once, with progress, before anything else needs it.

Compiling takes most of a minute on a new machine; afterwards it is read from the cache folder. Several processes that
compile into one cold cache at once have crashed numba, so a lock lets one do it while the others wait.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from numba import boolean, int16, int32, int64, uint16, uint32, uint64

from worker.jit import cache_dir
from worker.jit.cache import mark_used, prune
from worker.locks import lock
from worker.mate import dfpn, expansion
from worker.mate.state import MS, hand_of
from worker.nnue import NN, evaluate, evaluate_full
from worker.pack import unpack_shipped
from worker.search import alphabeta, exchange, history_exchange, mate1, picker, quiescence, root, tt
from worker.search.state import TH, begin_search
from worker.shogi import attacks, declaration, makemove, movegen
from worker.shogi.state import POS

Progress = Callable[[str, int, int], None]
"""Called with the stage that begins, its number from 0, and the number of stages; at the end with ``done``."""

Stage = tuple[str, Any, tuple[Any, ...]]
"""The stage's name, a compiled function, and the types of its arguments."""

_PLACES: Final = uint32[::1]
_VALUES: Final = int16[::1]
_CHANGES: Final = (_PLACES, uint16[::1], int32[::1])

# In the order of dependence, so that each stage compiles little more than its name says.
_STAGES: Final[tuple[Stage, ...]] = (
    ("attacks", attacks.update_checks, (POS,)),
    ("attacks", attacks.is_attacked, (POS, int64, int64)),
    ("attacks", attacks.in_check, (POS,)),
    ("moves", makemove.toggle_piece, (POS, int64, int64)),
    ("moves", makemove.make, (POS, int64)),
    ("moves", makemove.unmake, (POS,)),
    ("move generation", movegen.generate, (POS, int64, int64)),
    ("move generation", makemove.legal_moves, (POS, int64, int64)),
    ("legality", makemove.check_move, (POS, int64)),
    ("legality", makemove.legal_length, (POS, int64[::1], int64)),
    ("repetition", makemove.perpetual_check, (POS, int64)),
    ("declaration", declaration.wins_by, (POS, int64)),
    ("declaration", declaration.try_move, (POS,)),
    ("perft", makemove.perft, (POS, int64, int64, int64)),
    ("evaluation", evaluate, (POS, NN)),
    ("evaluation", evaluate_full, (POS, NN)),
    ("exchanges", exchange.exchange_at_least, (POS, int64, int64)),
    ("transposition table", tt.probe, (TH, uint64)),
    ("transposition table", tt.entry_move, (POS, uint64)),
    ("transposition table", tt.absorb, (TH, int64, int64)),
    ("transposition table", tt._count_fresh, (int64, int64)),
    ("transposition table", tt.collect, (int64, int64, int64, int64, int64)),
    ("histories", history_exchange.collect_changes, (*(int64,) * 3, _PLACES, *(int64,) * 3, *_CHANGES, int64)),
    ("histories", history_exchange.tell_largest, (*_CHANGES, *(int64,) * 3, _PLACES, _VALUES)),
    ("histories", history_exchange.take_means, (_PLACES, _VALUES, _PLACES, _PLACES, int64, int64)),
    ("search", begin_search, (TH,)),
    ("move picking", picker.next_move, (POS, TH, int64, int64, int64)),
    ("mate in one", mate1.mate_in_one, (POS, int64)),
    ("quiescence search", quiescence.quiescence, (POS, NN, TH, int64, int64, int64, boolean)),
    ("search", alphabeta.search, (POS, NN, TH, int64, int64, int64, int64, int64)),
    ("mate search", dfpn.search, (POS, MS, int64, int64, int64, int64)),
    ("mate search", dfpn.line_step, (POS, MS, int64, int64)),
    ("mate search", dfpn.line_back, (POS, MS, int64)),
    ("mate search", expansion.expand, (POS, MS, int64, int64)),
    ("mate search", expansion.evaluate, (MS, int64, int64, boolean)),
    ("mate search", expansion.path_push, (MS, int64, uint64, int64, uint64)),
    ("mate search", hand_of, (POS, int64)),
    ("root search", root.first_window, (TH, int64)),
    ("root search", root.next_window, (int64, int64, int64, int64, int64, int64)),
    ("root search", root.search_root_in, (POS[::1], NN[::1], TH[::1], int64, int64, int64, int64, int64)),
)


def warm_up(progress: Progress | None = None) -> bool:
    """Compile all that this package runs. Returns False if the cache was already warm.

    Args:
        progress: callback, called once per stage.
    """
    return compile_once(_STAGES, "complete", progress)


def compile_once(stages: Sequence[Stage], mark: str, progress: Progress | None = None) -> bool:
    """Compile ``stages`` if the cache has no file ``mark``, which shows that they are compiled; see `warm_up`.

    Raises:
        OSError: the code cannot be saved; the error names the folder.
    """
    report = progress or (lambda _stage, _number, _total: None)
    folder = cache_dir()
    done = folder / mark
    mark_used(folder)
    if done.exists():
        return False
    if notice := unpack_shipped():
        print(f"gougi: {notice}", file=sys.stderr)
    with (folder / "lock").open("w") as file:
        lock(file)
        if done.exists():
            return False
        for number, (name, function, signature) in enumerate(stages):
            report(name, number, len(stages))
            try:
                function.compile(signature)
            except OSError as error:  # from numba, without a file name
                raise OSError(error.errno, error.strerror, str(folder)) from error
        done.touch()
        report("done", len(stages), len(stages))
    prune(folder)
    return True
