"""``gougi match``: how strong is A against B?"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.common import FAILED, INTERRUPTED, CommandError, compile_searcher, interruptible

if TYPE_CHECKING:
    from master.arena.settings import MatchFolder, MatchSettings
    from worker.arena.statistics import Tally

PLAYER_HELP = "A USI command in quotes; or gougi, our own searcher; or a configuration file of ours (.toml)."


def match(
    a: Annotated[str, typer.Argument(metavar="A", help=PLAYER_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help="The other player.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where the match is kept. The same again goes on with it."),
    ] = None,
    games: Annotated[int, typer.Option(min=2, metavar="N", help="Games at most; even, two for each opening.")] = 40,
    nodes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Nodes a move, without a clock.")] = None,
    byoyomi: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Byoyomi.")] = 0,
    time: Annotated[
        str | None, typer.Option(metavar="MAIN+INC", help="Main time and increment (Fischer), in seconds.")
    ] = None,
    margin_ms: Annotated[
        int, typer.Option(min=0, metavar="MS", help="How far a clock may be overrun before it is a loss.")
    ] = 300,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Games at a time.")] = 1,
    name_a: Annotated[str | None, typer.Option(metavar="NAME", help="What A is called.")] = None,
    name_b: Annotated[str | None, typer.Option(metavar="NAME", help="What B is called.")] = None,
    option_a: Annotated[
        list[str] | None, typer.Option("--option-a", "-A", metavar="NAME=VALUE", help="A USI option of A; repeatable.")
    ] = None,
    option_b: Annotated[
        list[str] | None, typer.Option("--option-b", "-B", metavar="NAME=VALUE", help="A USI option of B; repeatable.")
    ] = None,
    openings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Positions, one a line (sfen ..., startpos moves ...). Default: made."),
    ] = None,
    opening_plies: Annotated[
        int, typer.Option(min=0, max=60, metavar="N", help="Random moves of a made opening.")
    ] = 12,
    opening_margin: Annotated[
        int, typer.Option(min=10, metavar="CP", help="How uneven a made opening may be, in centipawns.")
    ] = 120,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the openings made, and of their order.")] = 1,
    resign: Annotated[
        int | None,
        typer.Option(min=100, metavar="CP", help="End a game where both see one side so far ahead. Default: never."),
    ] = None,
    resign_moves: Annotated[int, typer.Option(min=1, metavar="N", help="For --resign: so many moves in a row.")] = 6,
    max_moves: Annotated[int, typer.Option(min=10, metavar="N", help="A game so long is a draw.")] = 320,
    sprt: Annotated[
        str | None, typer.Option(metavar="ELO0,ELO1", help="End as soon as a test decides between these.")
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="P", help="For --sprt: risk to accept ELO1 wrongly.")] = 0.05,
    beta: Annotated[float, typer.Option(metavar="P", help="For --sprt: risk to accept ELO0 wrongly.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end, for programs.")] = False,
) -> int:
    """Play games between A and B, and say how much stronger A is.

    Each opening is played twice with colours swapped. FOLDER gets a CSA record of every game, the openings and
    result.json. Ctrl-C keeps what was played; the same command goes on with it. Needs the package shogiarena.

    Examples:

      gougi match gougi fairy-stockfish --byoyomi 0.1 --games 40 --out runs/fairy

      gougi match gougi "gpsusi" -B BookDepth=0 --byoyomi 0.5 --concurrency 2

      gougi match gougi "other/gougi usi --single" --nodes 20000 --games 2000 --sprt 0,10
    """
    from master.arena.settings import MatchFolder, MatchSettings, SettingsError, player

    try:
        settings = MatchSettings(
            players=(player(a, name_a, option_a or []), player(b, name_b, option_b or [])),
            pace=_pace(nodes, byoyomi, time, margin_ms),
            games=games,
            concurrency=concurrency,
            seed=seed,
            max_moves=max_moves,
            resign_cp=resign,
            resign_moves=resign_moves,
            opening_file=None if openings is None else str(openings.resolve()),
            opening_plies=opening_plies,
            opening_margin_cp=opening_margin,
            sprt=_sprt(sprt, alpha, beta),
        )
        folder = MatchFolder(out or Path("runs") / "-".join(p.name for p in settings.players))
        return _run(settings, folder, as_json)
    except SettingsError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(str(error), FAILED) from error


def _pace(nodes: int | None, byoyomi_s: float, time: str | None, margin_ms: int) -> Any:
    from master.arena.settings import Pace, SettingsError

    main_s = increment_s = 0.0
    if time is not None:
        main, _, increment = time.partition("+")
        try:
            main_s, increment_s = float(main), float(increment or 0)
        except ValueError:
            raise SettingsError(f"--time {time}: expected MAIN+INC in seconds, such as 60+1") from None
        if not (math.isfinite(main_s) and math.isfinite(increment_s) and min(main_s, increment_s) >= 0):
            raise SettingsError(f"--time {time}: expected two times from 0 up")
    return Pace(nodes, round(main_s * 1000), round(byoyomi_s * 1000), round(increment_s * 1000), margin_ms)


def _sprt(bounds: str | None, alpha: float, beta: float) -> Any:
    from master.arena.settings import SettingsError
    from worker.arena.statistics import Sprt

    if bounds is None:
        return None
    try:
        elo0, elo1 = (float(part) for part in bounds.split(","))
    except ValueError:
        raise SettingsError(f"--sprt {bounds}: expected two numbers ELO0,ELO1, such as 0,10") from None
    try:
        return Sprt(elo0, elo1, alpha, beta)
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _run(settings: MatchSettings, folder: MatchFolder, as_json: bool) -> int:
    from master.arena.referee import check_player, decided, play, standing
    from worker.arena.statistics import Verdict

    if folder.claim(settings) or not folder.openings.exists():
        _write_openings(settings, folder)
    result, _ = standing(settings, folder)
    if result.games < settings.games and decided(settings, result) is Verdict.OPEN:
        for one in settings.players:
            interruptible(lambda one=one: check_player(one, settings))  # type: ignore[misc]
        with _Board(settings, result) as board:
            play(settings, folder, board.show)
    result, failed = standing(settings, folder)
    facts = report(settings, result, failed)
    folder.result.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(facts, ensure_ascii=False) if as_json else _table(settings, facts))
    if facts["finished"]:
        return 0
    if result.games + failed >= settings.games:
        raise CommandError(f"{failed} games have no result: see {folder.log}", FAILED)
    print(f"interrupted: the same command goes on with {folder.path}", file=sys.stderr)
    return INTERRUPTED


def _write_openings(settings: MatchSettings, folder: MatchFolder) -> None:
    """Put an opening for every pair into the folder; a list that is too short begins again."""
    from master.arena.settings import SettingsError
    from worker.arena.openings import OpeningError, read_openings, write_openings

    wanted = settings.games // 2
    try:
        if settings.opening_file is not None:
            known = read_openings(Path(settings.opening_file))
        else:
            known = _made_openings(settings, min(wanted, MOST_OPENINGS))
    except OpeningError as error:
        raise SettingsError(str(error)) from error
    write_openings(folder.openings, [known[number % len(known)] for number in range(wanted)])


MOST_OPENINGS = 1000
"""Openings made; a longer match plays them again."""


def _made_openings(settings: MatchSettings, count: int) -> list[str]:
    from worker.arena.openings import make_openings
    from worker.search.engine import NumbaEngine

    compile_searcher()

    def make() -> list[str]:
        engine = NumbaEngine(hash_mb=1)
        return make_openings(count, settings.seed, engine, settings.opening_plies, settings.opening_margin_cp)

    print(f"making {count} openings", file=sys.stderr, flush=True)
    return interruptible(make)


class _Board:
    """The standing on stderr while the match runs: a bar at a terminal, else a line after each game."""

    def __init__(self, settings: MatchSettings, result: Tally) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from master.ui.console import Console

        self._settings = settings
        self._live = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not self._live,
        )
        self._task = self._bar.add_task(self._line(result), total=settings.games, completed=result.games)

    def _line(self, result: Tally) -> str:
        from worker.arena.statistics import strength

        words = f"{result.wins} won, {result.draws} drawn, {result.losses} lost, {_elo(strength(result))}"
        if self._settings.sprt is not None:
            lower, upper = self._settings.sprt.bounds
            words += f", LLR {self._settings.sprt.llr(result.pairs):.2f} ({lower:.2f} to {upper:.2f})"
        return words

    def show(self, result: Tally) -> None:
        """A game is over."""
        self._bar.update(self._task, description=self._line(result), completed=result.games)
        if not self._live:
            print(f"{result.games}/{self._settings.games}: {self._line(result)}", file=sys.stderr, flush=True)

    def __enter__(self) -> _Board:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _elo(strength: Any) -> str:
    def number(value: float) -> str:
        return f"{value:+.0f}" if math.isfinite(value) else ("+inf" if value > 0 else "-inf")

    return f"Elo {number(strength.elo)} ({number(strength.low)} to {number(strength.high)})"


def report(settings: MatchSettings, result: Tally, failed: int) -> dict[str, Any]:
    """The match in plain values: JSON has no infinity, so an Elo without an end is null."""
    from master.arena.referee import decided
    from worker.arena.statistics import Verdict, strength

    def number(value: float) -> float | None:
        return round(value, 1) if math.isfinite(value) else None

    measured = strength(result)
    verdict = decided(settings, result)
    facts: dict[str, Any] = {
        "a": settings.players[0].name,
        "b": settings.players[1].name,
        "pace": str(settings.pace),
        "games": result.games,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "pairs": list(result.pairs),
        "score": round(result.score, 4),
        "elo": number(measured.elo),
        "elo_low": number(measured.low),
        "elo_high": number(measured.high),
        "los": round(measured.superiority, 4),
        "without_result": failed,
        "finished": result.games >= settings.games or verdict is not Verdict.OPEN,
    }
    if settings.sprt is not None:
        lower, upper = settings.sprt.bounds
        facts["sprt"] = {
            "elo0": settings.sprt.elo0,
            "elo1": settings.sprt.elo1,
            "llr": round(settings.sprt.llr(result.pairs), 3),
            "bounds": [round(lower, 3), round(upper, 3)],
            "verdict": verdict.value,
        }
    return facts


def _table(settings: MatchSettings, facts: dict[str, Any]) -> str:
    def elo(key: str, missing: str) -> str:
        return missing if facts[key] is None else f"{facts[key]:+.0f}"

    pairs = "  ".join(f"{points}: {n}" for points, n in zip(("0", "½", "1", "1½", "2"), facts["pairs"], strict=True))
    swept = "+inf" if facts["score"] > 0.5 else "-inf"
    rows = [
        ("A", facts["a"]),
        ("B", facts["b"]),
        ("pace", facts["pace"]),
        ("games", f"{facts['games']} of {settings.games}"),
        ("A won, drawn, lost", f"{facts['wins']}, {facts['draws']}, {facts['losses']}"),
        ("pairs by A's points", pairs),
        ("score of A", f"{facts['score']:.1%}"),
        ("Elo of A over B", f"{elo('elo', swept)} (95 %: {elo('elo_low', '-inf')} to {elo('elo_high', '+inf')})"),
        ("A is stronger", f"{facts['los']:.1%} likely"),
    ]
    if facts["without_result"]:
        rows.append(("without result", str(facts["without_result"])))
    if "sprt" in facts:
        test = facts["sprt"]
        meaning = {"open": "open", "H0": f"H0: {test['elo0']:+g} Elo", "H1": f"H1: {test['elo1']:+g} Elo"}
        rows.append(
            ("SPRT", f"{meaning[test['verdict']]}, LLR {test['llr']:.2f} in {test['bounds'][0]} to {test['bounds'][1]}")
        )
    return "\n".join(f"{name:<20} {value}" for name, value in rows)
