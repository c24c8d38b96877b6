"""``gougi learn``: networks, generation by generation, unattended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.main import get_command

from cluster.processors import processors
from lab.commands.match import match
from lab.commands.net import attacks as net_attacks
from lab.commands.options import GROUP_SETTINGS, Out
from lab.commands.selfplay import app as selfplay
from lab.commands.train import require_torch, train
from master.commands.checks import network_file
from master.commands.common import FAILED, CommandError, EndsOn
from master.commands.options import JsonAtEnd
from master.commands.plain import PlainCommand, PlainGroup, complaint
from worker.files import described

T = TypeVar("T", int, float)

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, add_completion=False, context_settings=GROUP_SETTINGS)

_MACHINE = "Processes for games, threads for training, games of a match at a time."
_MORE = 'More options of {}, in quotes: "{}".'


@app.callback(invoke_without_command=True)
def learn(
    context: typer.Context,
    out: Out = Path("runs/learn"),
    generations: Annotated[
        int, typer.Option(min=1, metavar="N", help="Total number of generations. You can ask for more later.")
    ] = 3,
    net: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="The network (nn.bin) that plays the first games. Default: one made by hand, generation 0.",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="The file learn.json of a run on another machine, to continue; --net is then its best network.",
        ),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(min=0, metavar="H", help="Stop after H hours of work, earlier parts of the run included."),
    ] = None,
    games: Annotated[
        str,
        typer.Option(metavar="N[,N]", help="Games of each generation; the last number applies to the rest."),
    ] = "20000",
    nodes: Annotated[
        str, typer.Option(metavar="N[,N]", help="Soft limit of nodes for a move of these games, by generation.")
    ] = "400,700",
    epochs: Annotated[
        str,
        typer.Option(metavar="N[,N]", help="Number of times that training learns from each position, by generation."),
    ] = "5",
    window: Annotated[
        int, typer.Option(min=1, metavar="N", help="Generations of games from which a network learns.")
    ] = 2,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh/--from-best",
            help="Begin the training of each network with random weights, or with those of the best network.",
        ),
    ] = True,
    gate_nodes: Annotated[int, typer.Option(min=1, metavar="N", help="Nodes a move of the gate.")] = 20_000,
    gate_games: Annotated[int, typer.Option(min=2, metavar="N", help="Games of the gate at most; even.")] = 400,
    gate_sprt: Annotated[
        str,
        typer.Option(
            metavar="ELO0,ELO1",
            help="The gate's test of two Elo values. The new network passes if the test decides for ELO1.",
        ),
    ] = "0,20",
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PLAYER",
            help="Also measure promoted networks against this USI command or nn.bin. May be repeated.",
        ),
    ] = None,
    match_nodes: Annotated[
        str,
        typer.Option(
            metavar="N[,N]",
            help="Nodes a move of these matches: one match for each number. The match against the first network has "
            "only the first number.",
        ),
    ] = "5000,20000,100000",
    match_games: Annotated[
        int, typer.Option(min=0, metavar="N", help="Games of each of these matches; even. 0: none is played.")
    ] = 200,
    openings: Annotated[
        str,
        typer.Option(metavar="FILE", help="Openings of the gate and of these matches, as gougi match takes them."),
    ] = "natural",
    sparring: Annotated[
        str,
        typer.Option(
            metavar="PLAYER",
            help="The best network also plays a match against this USI command, and as many more games as --games "
            "begin in positions of that match: positions that it overrates.",
        ),
    ] = "",
    sparring_games: Annotated[int, typer.Option(min=2, metavar="N", help="Games of this match; even.")] = 300,
    sparring_options: Annotated[
        str, typer.Option(metavar="WORDS", help=_MORE.format("this match", "--byoyomi 1 -B LimitDepth=4"))
    ] = "--byoyomi 0.2 --margin-ms 1000",
    games_options: Annotated[
        str, typer.Option(metavar="WORDS", help=_MORE.format("gougi selfplay", "--plies 10-14"))
    ] = "",
    train_options: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORDS",
            help=_MORE.format("gougi train", "--batch 16384")
            + " Each further time trains one more network, with another seed; the mean of all goes to the gate "
            "(--from-best).",
        ),
    ] = None,
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks/--no-attacks",
            help="Give each new network an attack network, trained with the same games (gougi net attacks). Only Gougi "
            "plays with it.",
        ),
    ] = False,
    attack_options: Annotated[
        str, typer.Option(metavar="WORDS", help=_MORE.format("gougi net attacks", "--lambda 0.8"))
    ] = "",
    gate_options: Annotated[
        str, typer.Option(metavar="WORDS", help=_MORE.format("the gate's gougi match", "--resign 0"))
    ] = "",
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the first generation; each later one has the next.")
    ] = 1,
    processes: Annotated[
        int | None, typer.Option(min=1, metavar="N", help=f"{_MACHINE} Default: the processors.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Make the games on the fleet whose Ray listens there (or: auto)."),
    ] = None,
    as_json: JsonAtEnd = False,
) -> int:
    """Make networks, generation by generation.

    Each generation has four steps: games of the best network, training, a gate (a match of the new network against the
    best one), and promotion. With --sparring, a match against another engine comes first, and more games begin in its
    positions. With --attacks, an attack network is trained after the network. Each step is a command that you can run
    by hand (gougi selfplay, train, net attacks, net compare, match) in a folder of its own. Ctrl-C, a kill, a full disk
    or the end of --hours interrupt a step; the same command continues it. FOLDER gets best.bin, every promoted network
    (nets/), and the page nets.md with tables and all commands. You may change options before you continue: they apply
    to steps that have not begun. docs/how-to/training.md explains the loop.

    Examples:

      gougi learn --out runs/learn --generations 5 --games 50000 --hours 24

      gougi learn --address auto --games 500000,2000000 --hours 12

      gougi learn --against yardstick=other/nn.bin --against fairy=fairy-stockfish

      gougi learn --sparring gpsusi --sparring-options "--byoyomi 1 --margin-ms 3000 -B LimitDepth=4"

      gougi learn --history run1/learn.json --net run1/best.bin --generations 9 --from-best --attacks

      gougi learn show runs/learn
    """
    if context.invoked_subcommand is not None:
        return 0
    require_torch("learn")
    from lab.learning.folder import LearnFolder, LearnFolderError
    from lab.learning.recipe import Opponent, Recipe, RecipeError, words
    from lab.learning.run import check, run
    from worker.nnue.architecture import NetworkFileError

    try:
        recipe = Recipe(
            games=_numbers("--games", games, int), nodes=_numbers("--nodes", nodes, int),
            epochs=_numbers("--epochs", epochs, float), window=window, fresh=fresh, gate_nodes=gate_nodes,
            gate_games=_even("--gate-games", gate_games), gate_sprt=gate_sprt,
            match_nodes=_numbers("--match-nodes", match_nodes, int), match_games=_even("--match-games", match_games),
            openings=openings, sparring=sparring, sparring_games=_even("--sparring-games", sparring_games),
            sparring_words=sparring_options, seed=seed, processes=processes or processors(),
            address=address, opponents=[Opponent.parse(text) for text in against or []],
            games_words=games_options, train_words=train_options or [""], gate_words=gate_options,
            attacks=attacks, attack_words=attack_options,
        )  # fmt: skip
        for option, command, texts in (
            ("--sparring-options", match, [sparring_options]), ("--games-options", selfplay, [games_options]),
            ("--train-options", train, train_options or []), ("--attack-options", net_attacks, [attack_options]),
            ("--gate-options", match, [gate_options]),
        ):  # fmt: skip
            for text in texts:
                _check_options(option, command, words(option, text))
        check(recipe)
        with EndsOn(NetworkFileError, where="--net"):
            first, fv_scale = (None, None) if net is None else network_file(net, None)
        if attacks and any("SFNN" in text.upper() for text in train_options or []):
            raise CommandError("--attacks: an SFNN network can have no attack network")
        folder = LearnFolder(out)
        with folder.held():
            return run(folder, recipe, generations, hours, first, fv_scale, history, as_json)
    except (RecipeError, LearnFolderError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


@app.command(cls=PlainCommand)
def show(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi learn.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="The ledger, for programs.")] = False,
) -> None:
    """Show the generations of a run, also of one that is under way.

    Examples:

      gougi learn show runs/learn
    """
    import json

    from lab.learning.folder import LearnFolder, LearnFolderError, page

    with EndsOn(LearnFolderError):
        ledger = LearnFolder(folder).read()
    print(json.dumps(ledger.as_json()) if as_json else page(ledger, str(folder)).rstrip())


def _numbers(option: str, text: str, kind: type[T]) -> list[T]:
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(f"{option} {text}: expected numbers with commas between them, such as 400,700") from None
    if not all(0 < number < 1e12 for number in found):
        raise CommandError(f"{option} {text}: expected numbers above 0")
    return found


def _check_options(option: str, command: Any, words: list[str]) -> None:
    """End the command if a step's command, which begins hours later, has no such options."""
    if not isinstance(command, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command()(command)
        command = app
    known = get_command(command)
    try:
        known.make_parser(typer.Context(known)).parse_args(words)
    except typer.TyperException as error:
        raise CommandError(f"{option}: {complaint(error)}") from error


def _even(option: str, games: int) -> int:
    if games % 2:
        raise CommandError(f"{option} {games}: expected an even number: each opening is played twice")
    return games
