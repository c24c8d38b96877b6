"""The searcher of one node: transposition table, move ordering, alpha-beta, quiescence, limits, threads."""
