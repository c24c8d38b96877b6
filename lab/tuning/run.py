"""A run of ``gougi tune``: plays the missing games of its folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from lab.match.openings import OpeningError, made_openings, named_openings, openings_of
from lab.tuning.folder import TuningFolder
from lab.tuning.play import PairTerms, code_version, play
from lab.tuning.report import TuningProgress, facts, line, parameter_table, plan_table, print_whole
from lab.tuning.state import TuneSettings, TuningError, TuningRun
from master.commands.common import Stoppable, compile_searcher, exit_code, notice
from worker.nnue import Network
from worker.nnue.format import parse_network
from worker.search.engine import NumbaEngine

_MOST_OPENINGS = 500
"""Number of generated openings; a longer run plays them again."""


def show_plan(settings: TuneSettings, as_json: bool) -> int:
    """Show the parameters to be tuned."""
    if as_json:
        print(json.dumps(settings.to_json()))
    else:
        print_whole(plan_table(settings))
    return 0


def run(
    out: Path,
    settings: TuneSettings,
    networks: Sequence[bytes],
    openings: Path | None,
    place: int | str,
    as_json: bool,
) -> int:
    """Begin or resume a run, and show its result; returns the exit code.

    Args:
        networks: their files, in the order of `GameSettings.net_digests`.
        openings: the option.
        place: as for `lab.tuning.play.play`.

    Raises:
        TuningError, FleetError, OSError: as the parts raise them.
    """
    folder = TuningFolder(out)
    with folder.held():
        terms = PairTerms(settings.games, settings.names, code_version())
        notice(folder.begin(settings.to_json(), terms.code))
        if isinstance(place, int):
            compile_searcher()
        _settle_openings(folder, settings, networks[0], openings)
        tuning, dropped = folder.run(settings, mend=True)
        notice(dropped)
        whole = tuning.finished or _play(folder, tuning, terms, networks, place)
    if as_json:
        print(json.dumps({"folder": str(folder.path), **facts(tuning)}))
    else:
        print_whole(parameter_table(tuning))
        print(line(tuning))
    return exit_code(whole, folder.path)


def _settle_openings(folder: TuningFolder, settings: TuneSettings, network: bytes, file: Path | None) -> None:
    """Fill the folder with openings: those of ``file``, or generated ones that ``network`` judges even.

    Raises:
        TuningError: it holds others than those of ``file``, or the file has none.
    """
    known, name = folder.known_openings(), named_openings(file)

    def engine() -> NumbaEngine:
        return NumbaEngine(hash_mb=1, network=Network(parse_network(network), fv_scale=settings.games.fv_scale))

    count = min(_MOST_OPENINGS, settings.spsa.iterations)
    try:
        given = [] if name is None else openings_of(name, settings.spsa.seed, count)
        if not known:
            folder.keep_openings(given or made_openings(count, settings.spsa.seed, engine))
        elif given not in ([], known):
            raise TuningError(f"{folder.path}: begun with other openings than those of {file}")
    except OpeningError as error:
        raise TuningError(str(error)) from error


def _play(
    folder: TuningFolder, tuning: TuningRun, terms: PairTerms, networks: Sequence[bytes], place: int | str
) -> bool:
    """Play the missing games. False: Ctrl-C or SIGTERM ended it."""
    with Stoppable() as block, TuningProgress(tuning) as progress:
        play(place, networks, terms, tuning, folder.append, progress.take)
    return block.finished
