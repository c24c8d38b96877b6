"""The report at a terminal. Pure but for rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from master.analysis.judgement import LEVELS, Judged, Quality
from master.analysis.notation import before, board, move_words, pv_words, score_words, square
from master.analysis.report import GameReport, Player, Settings, black_view, elo_text, strength_text
from master.analysis.statistics import BANDS, Rates, band_range
from master.ui.board import BOARD_COLUMNS, board_text, hand_text

_STYLES = {
    Quality.BEST: "green",
    Quality.INACCURACY: "cyan",
    Quality.DUBIOUS: "yellow",
    Quality.MISTAKE: "dark_orange",
    Quality.BLUNDER: "bold red",
}
_LONGEST_PV = 5


def game_table(report: GameReport) -> Table:
    """A row for each move: what was played, the score behind it (black's view), what was best."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("", "move", "time", "score", "loss", "", "best instead", "depth"):
        number = name in ("time", "score", "loss", "depth") or not table.columns
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    table.columns[6].overflow = "ellipsis"
    table.columns[6].ratio = 1
    table.expand = True
    for point, move in zip(report.points, report.moves, strict=False):
        last = before(report, point)
        found = move.before
        shown = found is not None and move.quality not in (Quality.BEST, Quality.FORCED)
        pv = " ".join(pv_words(point, found.pv[:_LONGEST_PV], last)) if found is not None and shown else ""
        table.add_row(
            str(move.number),
            move_words(point, move.usi, last),
            _seconds(report.game.moves[move.number - 1].ms),
            score_words(black_view(move.after, move.turn)),
            f"{100 * move.loss:.0f}%" if move.loss >= 0.005 else "",
            Text(_verdict(move), _STYLES.get(move.quality, "")),
            pv or ("only move" if move.quality is Quality.FORCED else ""),
            str(found.depth) if found is not None else "",
        )
    return table


def _verdict(move: Judged) -> str:
    words = move.quality.kanji
    if move.missed_mate:
        words += " 詰み逃し"
    if move.allowed_mate:
        words += " 頓死"
    return words.strip()


def _seconds(ms: int | None) -> str:
    return "" if ms is None else f"{ms / 1000:.1f}s"


def players_table(players: Sequence[Player], marks: Sequence[str] = ()) -> Table:
    """A row for each player.

    Args:
        marks: what stands before the names.
    """
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("player")
    for name in ("games", "moves", "accuracy", "loss", "best", "bad", "/".join(level.kanji[0] for level in LEVELS)):
        table.add_column(name, justify="right", no_wrap=True)
    for index, player in enumerate(players):
        own = player.statistics
        table.add_row(
            Text((marks[index] + " " if marks else "") + own.name),
            str(own.games),
            str(own.total.moves),
            f"{own.accuracy:.1f}%",
            f"{100 * own.total.loss:.1f}%",
            f"{own.total.best:.0%}",
            f"{own.total.bad:.0%}",
            "/".join(str(own.counts.get(level, 0)) for level in LEVELS),
        )
    return table


def strength_lines(players: Sequence[Player]) -> Text:
    """A line for each player of whom it can be said how strong."""
    text = Text()
    for player in players:
        if player.strength is not None:
            text.append(f"{player.statistics.name} plays like our own searcher with ")
            text.append(f"{strength_text(player.strength)} nodes a move")
            elo = elo_text(player.strength.elo)
            text.append("\n" if elo == "-" else f": Elo {elo} over its weakest level\n")
    return text


def bands_table(players: Sequence[Player]) -> Table:
    """By score band (the mover's side): moves, mean loss in centipawns and rate of bad moves of each player."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("score before the move")
    table.add_column("")
    for player in players:
        table.add_column(Text(f"{player.statistics.name}\nmoves  loss   bad"), justify="right")
    for index, name in enumerate(BANDS):
        cells = [_rates(player.statistics.bands[index]) for player in players]
        table.add_row(name, band_range(index), *cells)
    return table


def _rates(rates: Rates) -> str:
    return f"{rates.moves:5d} {rates.loss_cp:5.0f} {rates.bad:5.0%}" if rates.moves else "-"


def turning_panels(report: GameReport) -> Iterator[RenderableType]:
    """The position before each turning point, with what was played and what was best."""
    points = {point.ply: point for point in report.points}
    for move in report.turning:
        point = points[move.number - 1]
        assert move.before is not None, "a move that lost something has been compared"
        last = before(report, point)
        position = board(point.sfen)
        loss = f"{move.quality.kanji}, -{100 * move.loss:.0f}%"
        head = f"{move.number}. {move_words(point, move.usi, last)} {loss}"
        scores = " → ".join(score_words(black_view(score, move.turn)) for score in (move.before.score, move.after))
        best = "best: " + " ".join(pv_words(point, move.before.pv[:_LONGEST_PV], last))
        drawn = Group(
            Text(hand_text(position, 1)),
            board_text(position, square(last)),
            Text(hand_text(position, 0)),
            "",
            scores,
            best,
        )
        yield Panel(drawn, title=head, width=BOARD_COLUMNS + 16, title_align="left")


def notes(settings: Settings, calibrated: bool) -> Text:
    """What the figures mean, in short."""
    text = (
        f"{settings.engine}; {settings.effort}. Scores are black's view. Loss: of win probability; in bands of "
        "centipawns. Bad: 疑問手 or worse."
    )
    if calibrated:
        text += (
            " Strength: which of our own searcher's levels the player would hold in virtual games (95 % interval of the"
            " moves' chance only). docs/analysis.md says what it is worth."
        )
    else:
        text += " No strength: the calibration is for our own network and about 50000 nodes a move in all."
    return Text(text, style="dim")
