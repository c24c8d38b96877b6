"""``gougi selfplay``: teacher games, what is in them, and the field's records out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cluster.processors import processors
from master.commands.checks import network_file
from master.commands.common import (
    FAILED,
    CommandError,
    EndsOn,
    Stoppable,
    WarmUp,
    compile_searcher,
    exit_code,
    interruptible,
    notice,
)
from master.commands.options import FleetAddress, FvScale, Json, JsonAtEnd, NetFile
from master.commands.plain import PlainCommand, PlainGroup
from worker.files import described, replacing

if TYPE_CHECKING:
    from lab.selfplay.folder import TeacherFolder
    from lab.selfplay.run import ShardsProgress, ShardTerms

OUR_SCALE: Final = 1006
"""Win-rate scale of the network that ships, as its training fitted it (``docs/nets.json``)."""
TREE_NATURAL: Final = 0.5
"""Share of the games with natural openings, if positions of trees are kept."""
TREE_GAMES: Final = 200
"""Games of a shard then: some 150,000 positions, 13 MB."""
FIRST_SCALE: Final = 2400
"""Win-rate scale of generation 0, the hand-made network with which ``gougi learn`` begins."""

app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _compile() -> None:
    """Compile the searcher and self-play if they are not in the cache, with progress on stderr."""

    def find() -> WarmUp:
        from lab.selfplay.warm import warm_up_selfplay

        return warm_up_selfplay

    compile_searcher(find)


@app.callback(invoke_without_command=True)
def selfplay(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Folder of the games. The same command continues it.")
    ] = Path("runs/selfplay"),
    games: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Games in all, rounded up to whole shards. You can ask for more later."),
    ] = 10_000,
    net: NetFile = None,
    fv_scale: FvScale = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all games: the same seed gives the same.")] = 1,
    nodes: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Soft limit of a move: no iteration begins after it. Some 1.7 N are searched."
        ),
    ] = 700,
    plies: Annotated[str, typer.Option(metavar="N-M", help="Random moves of an opening, from and to.")] = "8-16",
    balance: Annotated[
        float,
        typer.Option(
            metavar="P", help="Highest probability with which a side may win in an opening; others are rejected."
        ),
    ] = 0.55,
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
    decided_plies: Annotated[int, typer.Option(metavar="N", help="For --decided: number of plies in a row.")] = 6,
    played_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the games that go on to the end in spite of --decided.")
    ] = 0.1,
    entering: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the games that begin with both kings near the enemy's camp."),
    ] = 0.05,
    unusual: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of the games that begin in an unusual position: after the opening come up to 60 plies of quick "
            "searches, one in six a random move.",
        ),
    ] = 0.5,
    natural: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the games whose opening has good moves, as quick searches find them, and not any. Default: "
            f"0; with --tree {TREE_NATURAL}.",
        ),
    ] = None,
    tree: Annotated[
        bool,
        typer.Option("--tree", help="Keep positions of the searches' trees too, which no game shows."),
    ] = False,
    tree_depth: Annotated[
        int, typer.Option(min=1, metavar="N", help="For --tree: least depth of the search that judged a position.")
    ] = 2,
    tree_share: Annotated[
        float, typer.Option(metavar="SHARE", help="For --tree: share of such positions that is kept.")
    ] = 0.5,
    deep_share: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the moves that are searched deep, for better labels.")
    ] = 0.0,
    deep_nodes: Annotated[
        int, typer.Option(min=1, metavar="N", help="For --deep-share: soft limit of such a search.")
    ] = 20_000,
    deep_depth: Annotated[
        int, typer.Option(min=1, metavar="N", help="For --deep-share: --tree-depth in the tree of such a search.")
    ] = 8,
    max_moves: Annotated[int, typer.Option(metavar="N", help="Number of moves after which a game is drawn.")] = 320,
    shard: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Games of a shard. Default: 1000, which take about two minutes; with --tree {TREE_GAMES}.",
        ),
    ] = None,
    hash_mb: Annotated[int, typer.Option("--hash", min=1, metavar="MB", help="Table of each process.")] = 4,
    processes: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes on this machine. Default: its processors.")
    ] = None,
    address: FleetAddress = None,
    as_json: JsonAtEnd = False,
) -> int:
    """Play games of the searcher against itself, to train a network.

    FOLDER gets a file for each shard of games. Network, seed, settings and version of the sources decide every bit of a
    shard, whichever machine makes it. Ctrl-C, a full disk or a dead process cost only the shards in progress: the same
    command goes on, also with more --games. docs/how-to/training.md explains the settings.

    Examples:

      gougi selfplay --out runs/games1 --games 100000

      gougi selfplay --out runs/games1 --games 500000 --address auto

      gougi selfplay --out runs/tree1 --games 100000 --nodes 400 --tree --deep-share 0.01

      gougi selfplay stats runs/games1

      gougi selfplay export runs/games1 --out games1.psv
    """
    if context.invoked_subcommand is not None:
        return 0
    from cluster.api import FleetError
    from lab.selfplay.folder import TeacherFolder
    from lab.selfplay.run import FolderError, ShardTerms, TeachingError, digest_of
    from lab.selfplay.teacher import TeacherSettings, code_version
    from worker.nnue.format import NetworkFileError

    first, last = _plies(plies)
    if scale is None:
        scale = OUR_SCALE if net is None else FIRST_SCALE
    try:
        settings = TeacherSettings(
            seed=seed, nodes=nodes, plies_from=first, plies_to=last, balance=balance, scale=scale, decided=decided,
            decided_plies=decided_plies, played_out=played_out, entering=entering, unusual=unusual,
            natural=(TREE_NATURAL if tree else 0.0) if natural is None else natural,
            tree_depth=tree_depth if tree else 0, tree_share=tree_share, deep=deep_share, deep_nodes=deep_nodes,
            deep_depth=deep_depth, max_moves=max_moves, hash_mb=hash_mb,
            games=(TREE_GAMES if tree else 1000) if shard is None else shard,
        )  # fmt: skip
        network = network_file(net, fv_scale)
        terms = ShardTerms(settings, digest_of(network), fv_scale, code_version())
        folder = TeacherFolder(out)
        with folder.held():
            folder.claim(terms)
            return _run(folder, terms, network, -(-games // settings.games), processes, address, as_json)
    except (ValueError, NetworkFileError, FolderError) as error:
        raise CommandError(str(error)) from error
    except (TeachingError, FleetError) as error:
        raise CommandError(str(error), FAILED) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


def _plies(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        return int(first), int(last or first)
    except ValueError:
        raise CommandError(f"--plies {text}: expected two whole numbers N-M, such as 8-16") from None


def _run(
    folder: TeacherFolder,
    terms: ShardTerms,
    network: bytes,
    shards: int,
    processes: int | None,
    address: str | None,
    as_json: bool,
) -> int:
    from lab.selfplay.run import ShardsProgress

    known, notices = folder.known(terms, shards)
    for text in notices:
        notice(text)
    there = {header["shard"] for header in known}
    progress = ShardsProgress(terms.settings.games * shards, known)
    whole = True
    if missing := [number for number in range(shards) if number not in there]:
        whole = _make(folder, terms, network, missing, processes, address, progress)
    found = {"folder": str(folder.path), "finished": whole, **progress.facts()}
    print(json.dumps(found) if as_json else progress.summary())
    return exit_code(whole, folder.path)


def _make(
    folder: TeacherFolder,
    terms: ShardTerms,
    network: bytes,
    missing: list[int],
    count: int | None,
    address: str | None,
    progress: ShardsProgress,
) -> bool:
    """Make the shards that are missing. False: Ctrl-C or SIGTERM ended it."""
    from lab.selfplay.run import Event, Made, make_here, make_on_ray

    def on_event(event: Event) -> None:
        if isinstance(event, Made):
            folder.keep(event)
        progress.take(event)

    import asyncio

    with Stoppable() as block:
        if address is None:
            _compile()
            with progress:
                make_here(network, terms, missing, min(count or processors(), len(missing)), on_event)
        else:
            with progress:
                asyncio.run(make_on_ray(address, network, terms, missing, on_event))
    return block.finished


@app.command(cls=PlainCommand)
def stats(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi selfplay.")
    ],
    as_json: Json = False,
) -> None:
    """Count what is in the games.

    It counts lengths, ends, duplicates and scores, and the share of the positions that training keeps, and fits the
    scale.

    Examples:

      gougi selfplay stats runs/games1
    """
    from lab.selfplay.folder import shards_in
    from lab.selfplay.positions import ShardTally
    from lab.selfplay.run import TeachingError, stats_text
    from lab.selfplay.shard import ShardError

    _compile()

    def count() -> dict[str, Any]:
        tally = ShardTally()
        for shard in shards_in(folder):
            try:
                tally.add(shard)
            except ShardError as error:
                raise TeachingError(f"{folder}, shard {shard.header['shard']}: {error}") from error
        return tally.facts()

    with EndsOn(TeachingError, OSError, code=FAILED):
        facts = interruptible(count)
    print(json.dumps(facts) if as_json else stats_text(facts))


@app.command(cls=PlainCommand)
def export(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi selfplay.")
    ],
    out: Annotated[Path, typer.Option("--out", dir_okay=False, metavar="FILE", help="The file to write.")],
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="All positions: also in check, with a capture or promotion as best move, or decided."
        ),
    ] = False,
    as_json: JsonAtEnd = False,
) -> None:
    """Write the positions for other trainers (PackedSfenValue).

    Each record has 40 bytes. It writes quiet positions only: no check, no capture and no promotion as best move, a
    score below 6000. They are in the order of the games: shuffle them before training.

    Examples:

      gougi selfplay export runs/games1 --out positions.bin
    """
    from lab.selfplay.folder import shards_in
    from lab.selfplay.positions import packed_records
    from lab.selfplay.run import TeachingError
    from lab.selfplay.shard import ShardError

    _compile()

    def write() -> int:
        with replacing(out) as file:
            for shard in shards_in(folder):
                try:
                    file.writelines(packed_records(shard, only_quiet=not everything))
                except ShardError as error:
                    raise TeachingError(f"{folder}, shard {shard.header['shard']}: {error}") from error
            return file.tell() // 40

    with EndsOn(TeachingError, OSError, code=FAILED):
        positions = interruptible(write)
    print(json.dumps({"file": str(out), "positions": positions}) if as_json else f"{out}: {positions:,} positions")
