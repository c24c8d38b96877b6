"""The report at a terminal. Pure except for rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from master.analysis.judgement import BANDS, LEVELS, TOLD_LOSS, Judged, Quality, Rates
from master.analysis.report import (
    GameReport,
    PlayerReport,
    ReportSettings,
    before,
    black_bound,
    black_view,
    move_words,
    pv_words,
    range_words,
    score_words,
    strength_words,
)
from master.ui.texts import later, page_say, page_words, say
from worker.engine import Bound
from worker.text import fitted, shows_kanji

_STYLES = {
    Quality.BEST: "green",
    Quality.INACCURACY: "cyan",
    Quality.DUBIOUS: "yellow",
    Quality.MISTAKE: "dark_orange",
    Quality.BLUNDER: "bold red",
}
_LONGEST_PV = 5
_WIDE = 72
"""Width from which all columns of a table fit side by side."""


@dataclass(frozen=True, slots=True)
class Terminal:
    width: int
    encoding: str = "utf-8"

    @property
    def narrow(self) -> bool:
        """Too narrow for all columns side by side."""
        return self.width < _WIDE

    def say(self, message: str, **fields: object) -> str:
        """A message of the report in the user's language."""
        return page_say(message, **fields) if shows_kanji(self.encoding) else message.format_map(fields)

    @property
    def names_classes(self) -> bool:
        """Whether the classes of moves have their Japanese names: if the user reads Japanese."""
        return bool(page_words()) and shows_kanji(self.encoding)

    def fit(self, text: str) -> str:
        return fitted(text, self.encoding)

    @property
    def marks(self) -> tuple[str, str]:
        """The marks of black and white."""
        return (self.fit("☗"), self.fit("☖"))


def game_table(report: GameReport, terminal: Terminal) -> Table:
    """A row for each move: the move played, the score after it (black's view), the better move.

    On a narrow terminal time and depth are left out, and the better move stands below the move played.
    """
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    wide = not terminal.narrow
    names = ("", later("move"), later("time"), later("score"), later("loss"), "", later("better was"), later("depth"))
    for name in names if wide else (*names[:2], *names[3:6]):
        number = name in ("time", "score", "loss", "depth") or not table.columns
        head = say(name) if name else ""
        table.add_column(head, justify="right" if number else "left", no_wrap=bool(name) or not table.columns)
    if wide:
        table.columns[6].overflow = "ellipsis"
        table.columns[6].ratio = 1
        table.expand = True
    for point, move in zip(report.points, report.moves, strict=False):
        last = before(report, point)
        found = move.before
        pv = pv_words(point, found.pv[:_LONGEST_PV], last) if found is not None and move.had_better else []
        played = terminal.fit(move_words(point, move.usi, last))
        score = _score(move.after, move, terminal, move.bound)
        loss = f"{100 * move.loss:.0f}%" if move.loss >= TOLD_LOSS else ""
        verdict = Text(_verdict(move, terminal), _STYLES.get(move.quality, ""))
        if not wide:
            played += terminal.fit(f"\n→ {pv[0]}") if pv else ""
            table.add_row(str(move.number), played, score, loss, verdict)
            continue
        better = terminal.fit(" ".join(pv)) or (say("only move") if move.quality is Quality.FORCED else "")
        time = _seconds(report.game.moves[move.number - 1].ms)
        depth = str(found.depth) if found is not None else ""
        table.add_row(str(move.number), played, time, score, loss, verdict, better, depth)
    return table


def _score(score: int | None, move: Judged, terminal: Terminal, bound: Bound = Bound.EXACT) -> str:
    """A score of the mover's, from black's view."""
    return terminal.fit(score_words(black_view(score, move.turn), black_bound(bound, move.turn), terminal.say))


def _verdict_word(quality: Quality, terminal: Terminal) -> str:
    return quality.kanji if terminal.names_classes else quality.word


def _verdict(move: Judged, terminal: Terminal) -> str:
    """``mistake, missed mate, sure``."""
    words = [_verdict_word(move.quality, terminal)] if move.quality.kanji else []
    words += [terminal.say("missed mate")] * move.missed_mate + [terminal.say("allows a mate")] * move.allowed_mate
    if move.told and move.sureness is not None:
        words.append(terminal.say(move.sureness.value))
    return terminal.say(", ").join(words)


def _seconds(ms: int | None) -> str:
    return "" if ms is None else f"{ms / 1000:.1f}s"


def players_table(players: Sequence[PlayerReport], terminal: Terminal, marks: Sequence[str] = ()) -> Table:
    """A row for each player; on a narrow terminal a column for each.

    Args:
        marks: text before the names.
    """
    levels = "/".join(_verdict_word(level, terminal)[0] for level in LEVELS)
    heads = (say("player"), say("games"), say("moves"), say("accuracy"), say("loss"), say("best"), say("bad"), levels)
    rows = []
    for index, player in enumerate(players):
        own = player.statistics
        rows.append(
            (
                (marks[index] + " " if marks else "") + own.name,
                str(own.games),
                str(own.total.moves),
                "-" if own.accuracy is None else f"{own.accuracy:.1f}%",
                f"{100 * own.total.loss:.1f}%",
                f"{own.total.best:.0%}",
                f"{own.total.bad:.0%}",
                "/".join(str(own.counts.get(level, 0)) for level in LEVELS),
            )
        )
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0), show_header=not terminal.narrow)
    if terminal.narrow:
        for cells in zip(heads, *rows[:2], strict=True):
            table.add_row(cells[0], *(Text(cell) for cell in cells[1:]))
        return table
    table.add_column(heads[0])
    for name in heads[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for name, *figures in rows:
        table.add_row(Text(name), *figures)
    return table


def strength_lines(players: Sequence[PlayerReport], settings: ReportSettings, terminal: Terminal) -> Text:
    """A line for each player: the strength, or the reason for none."""
    text = Text()
    for player in players:
        if words := strength_words(player, settings, terminal.say):
            text.append(terminal.fit(f"{player.statistics.name}: {words}\n"))
    return text


def bands_tables(players: Sequence[PlayerReport], terminal: Terminal) -> Iterator[Table]:
    """By score band (the mover's side): moves, mean loss in centipawns and rate of bad moves of each player.

    On a narrow terminal a table for each player.
    """
    for group in [[player] for player in players] if terminal.narrow else [list(players)]:
        table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(say("score before"))
        if not terminal.narrow:
            table.add_column("")
        for player in group:
            heads = say("moves  loss   bad")
            table.add_column(Text(f"{player.statistics.name}\n{heads}"), justify="right", no_wrap=True)
        for index, name in enumerate(BANDS):
            cells = [_rates(player.statistics.bands[index]) for player in group]
            band = terminal.fit(range_words(index, terminal.say))
            table.add_row(*((band,) if terminal.narrow else (terminal.say(name), band)), *cells)
        yield table


def _rates(rates: Rates) -> str:
    return f"{rates.moves:5d} {rates.loss_cp:5.0f} {rates.bad:5.0%}" if rates.moves else "-"


def notes(settings: ReportSettings, terminal: Terminal) -> Text:
    """The meaning of the figures, in short."""
    texts = [
        terminal.say("{engine}; {effort}.", engine=settings.engine, effort=settings.effort),
        terminal.say(
            "Scores are black's view. Loss: of win probability; in bands of centipawns. Bad: {dubious} or worse.",
            dubious=_verdict_word(Quality.DUBIOUS, terminal),
        ),
        terminal.say("Sure, likely, unsure: how well a second, longer search agrees."),
        settings.no_strength
        or terminal.say(
            "Strength: the level of our own searcher whose moves lose the same, by score band (95 % interval of the "
            "moves' chance only). docs/how-to/analysis.md explains its limits."
        ),
    ]
    return Text(terminal.fit(" ".join(texts)), style="dim")
