"""The searcher of one node: transposition table, move ordering, alpha-beta, quiescence, limits, threads."""

from worker.jit.options import TUNING

if TUNING:
    from worker.search import tuning

    tuning.install()
