"""``gougi selfplay``: teacher games, and statistics about them."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cluster.processors import processors
from lab.commands.options import GROUP_SETTINGS, Hash, Out, Processes, TeacherGamesFolder
from master.commands.checks import Kind, network_file, only
from master.commands.common import FAILED, CommandError, EndsOn, interruptible
from master.commands.options import FleetAddress, FvScale, Json, JsonAtEnd, NetFile
from master.commands.plain import PlainCommand, PlainGroup
from worker.files import described

if TYPE_CHECKING:
    from lab.selfplay.run import Starts
    from lab.selfplay.teacher import TeacherSettings

OUR_SCALE: Final = 708
"""Win-rate scale of the network that ships, as fitted by its training (``lab/learning/history.json``)."""
FIRST_SCALE: Final = 2400
"""Win-rate scale of generation 0, the hand-made network with which ``gougi learn`` begins."""
_LOUD: Final = 10
"""A loud position is searched with one node for this many of ``--nodes``."""
_PIECES: Final = 40
_STARTS: Final = 4
"""Positions of --openings for each game."""

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, add_completion=False, context_settings=GROUP_SETTINGS)


@app.callback(invoke_without_command=True)
def selfplay(
    context: typer.Context,
    out: Out = Path("runs/selfplay"),
    games: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Number of games, rounded up to whole shards; more can follow later."),
    ] = 10_000,
    net: NetFile = None,
    fv_scale: FvScale = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all games: the same seed gives the same games.")] = 1,
    nodes: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Soft limit of a move: no iteration begins after it. Some 1.7 N are searched."
        ),
    ] = 700,
    loud_nodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="The same in check, and when a capture or promotion is the best move: no network learns from such "
            "positions. Default: a tenth of --nodes.",
        ),
    ] = None,
    openings: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            metavar="FILE",
            help="Games start at random positions of this file: one in each line (sfen ...), a .psv, or the folder of "
            "a match, whose games they come from. Default: the start position.",
            callback=only(Kind.POSITIONS),
        ),
    ] = None,
    plies: Annotated[
        str | None,
        typer.Option(
            metavar="N-M", help="Random moves of an opening, from and to. Default: 8-16; with --openings 0-4."
        ),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            metavar="CP",
            help="Centipawns of the network to one logistic unit, which gougi selfplay stats fits. Default: "
            f"{OUR_SCALE}, our own network's; with --net {FIRST_SCALE}, generation 0's.",
        ),
    ] = None,
    decided: Annotated[
        float, typer.Option(metavar="P", help="Probability of a win at which a game ends. 1: never.")
    ] = 0.97,
    played_out: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the games that are played to the end in spite of --decided."),
    ] = 0.1,
    entering: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the games that begin with both kings near the enemy's camp. Default: 0.05; with "
            "--openings 0.",
        ),
    ] = None,
    unusual: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the games that begin in an unusual position: after the opening come up to 60 plies of quick "
            "searches, one in six a random move. Default: 0.5; with --openings 0.",
        ),
    ] = None,
    natural: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of the games whose opening has good moves, found by quick searches, instead of random ones.",
        ),
    ] = 0.0,
    shard: Annotated[
        int, typer.Option(min=1, metavar="N", help="Games of a shard. 1000 take about two minutes.")
    ] = 1000,
    hash_mb: Hash = 4,
    processes: Processes = None,
    address: FleetAddress = None,
    as_json: JsonAtEnd = False,
) -> int:
    """Play games of the searcher against itself, to train a network.

    FOLDER gets a file for each shard of games. Network, seed, settings and version of the sources decide every bit of a
    shard, whichever machine makes it. Ctrl-C, a full disk or a dead process cost only the shards in progress: the same
    command continues, also with more --games. docs/how-to/training.md explains the settings.

    Examples:

      gougi selfplay --out runs/games1 --games 100000

      gougi selfplay --out runs/games1 --games 500000 --address auto

      gougi selfplay --out runs/games2 --games 100000 --openings positions.psv

      gougi selfplay stats runs/games1
    """
    if context.invoked_subcommand is not None:
        return 0
    from cluster.api import FleetError
    from lab.selfplay.folder import FolderError, ShardTerms, TeacherFolder, TeachingError
    from lab.selfplay.run import digest_of, run
    from lab.selfplay.teacher import TeacherSettings, code_version
    from worker.nnue.architecture import NetworkFileError

    first, last = _plies(plies or ("8-16" if openings is None else "0-4"))
    if loud_nodes is None:
        loud_nodes = max(1, nodes // _LOUD)
    if scale is None:
        scale = OUR_SCALE if net is None else FIRST_SCALE
    try:
        settings = TeacherSettings(
            seed=seed, nodes=nodes, loud_nodes=loud_nodes, plies_from=first, plies_to=last, scale=scale,
            decided=decided, played_out=played_out,
            entering=(0.05 if openings is None else 0.0) if entering is None else entering,
            unusual=(0.5 if openings is None else 0.0) if unusual is None else unusual,
            natural=natural, hash_mb=hash_mb, games=shard, starts=_identity(openings),
        )  # fmt: skip
        starts = _starts(openings, settings)
        network, fv_scale = network_file(net, fv_scale)
        terms = ShardTerms(settings, digest_of(network), fv_scale, code_version())
        folder = TeacherFolder(out)
        with folder.held():
            folder.claim(terms)
            place = address or processes or processors()
            return run(folder, terms, network, -(-games // settings.games), place, as_json, starts)
    except (ValueError, NetworkFileError, FolderError) as error:
        raise CommandError(str(error)) from error
    except (TeachingError, FleetError) as error:
        raise CommandError(str(error), FAILED) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


def _identity(openings: Path | None) -> str:
    """A hash of the positions from which games start; empty: the start position."""
    from lab.match.openings import OpeningError, read_openings
    from worker.nnue.beside import fingerprint

    if openings is None:
        return ""
    if not openings.is_dir():
        return fingerprint(openings)
    with EndsOn(OpeningError):
        return hashlib.sha256("\n".join(read_openings(openings)).encode()).hexdigest()


def _starts(openings: Path | None, settings: TeacherSettings) -> Starts:
    """The positions of each shard, several for each game because one side has won in some of them.

    Raises:
        CommandError: the file cannot be used.
    """
    from lab.match.openings import PSV_SUFFIX, OpeningError, openings_of, read_openings

    if openings is None:
        return lambda _number: ()
    wanted, seed = _STARTS * settings.games, settings.seed
    with EndsOn(OpeningError):
        if openings.suffix == PSV_SUFFIX:
            openings_of(str(openings), seed, 1)  # a fault in the file ends the command before it begins
            return lambda number: openings_of(str(openings), f"{seed}/{number}", wanted)
        lines = read_openings(openings)
    for number, line in enumerate(lines, start=1):
        if sum(piece.isalpha() for piece in line.split()[0]) + _in_hand(line.split()[2]) != _PIECES:
            raise CommandError(f"{openings}, position {number}: a handicap game; expected all {_PIECES} pieces")
    return lambda number: random.Random(f"{seed}/{number}").sample(lines, min(wanted, len(lines)))


def _in_hand(hands: str) -> int:
    """The number of pieces in hand, of that part of an SFEN: ``2P`` are two."""
    return sum(int(count or 1) for count, _ in re.findall(r"(\d*)([A-Za-z])", hands))


def _plies(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        return int(first), int(last or first)
    except ValueError:
        raise CommandError(f"--plies {text}: expected two whole numbers N-M, such as 8-16") from None


@app.command(cls=PlainCommand)
def stats(folder: TeacherGamesFolder, as_json: Json = False) -> None:
    """Print statistics of the games.

    It counts lengths, ends, starts and results, and the share of the positions that training keeps, and fits the scale.

    Examples:

      gougi selfplay stats runs/games1
    """
    from lab.selfplay.folder import TeachingError
    from lab.training.run import compile_training
    from lab.training.tally import count_games, counts_text

    compile_training()
    with EndsOn(TeachingError, OSError, code=FAILED):
        facts = interruptible(lambda: count_games(folder))
    print(json.dumps(facts) if as_json else counts_text(facts))
