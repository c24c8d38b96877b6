"""The searcher of one node: transposition table, move ordering, alpha-beta, quiescence, limits, threads."""

import os

# Read here and not through `worker.jit`, which loads the compiler: `usi` is answered before the compiler is loaded.
if os.environ.get("GOUGI_TUNE") == "1":
    from worker.search import tuning

    tuning.install()
