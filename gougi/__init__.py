"""Gougi, a shogi player: the top of its house. `gougi.__main__` is its command.

An installed Gougi has its packages within this one (`gougi.worker`, `gougi.cluster`, ...), so that none of them takes a
name that may be anybody's. In the repository they lie beside it; ``hatch_build.py`` says how they get here.
"""
