"""The live screen: board, clocks, variation, score, the fleet and its votes, laid out for the terminal's size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import rich.console
from rich.console import ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cluster.api import Decision, NodeView
from master.records.notation import SIDES, Notation, clock_text, count_text, score_text
from master.ui.board import BOARD_COLUMNS, board_text, hand_text
from master.ui.lines import result_words
from master.ui.model import GameView, SeriesView, SideView
from master.ui.progress import span
from master.ui.texts import say
from worker.shogi import Position
from worker.text import shows_kanji

WIDE: Final = 76
"""Width in columns from which the panels stand beside the board; on a narrower terminal they stand below it."""
NARROW: Final = BOARD_COLUMNS
"""Width in columns below which there is no room for a board."""
TALL: Final = 32
"""Height in rows from which everything fits below the board."""
REFRESH_S: Final = 0.2
_BAR: Final = 16
_ONE_LINE: Final = 64
"""Width in columns from which a bar has all its words beside it."""


class GameScreen:
    """A rich renderable of a `GameView`."""

    def __init__(self, view: GameView, series: SeriesView | None = None) -> None:
        self.view = view
        self._series = series

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        view, width, height = self.view, options.max_width, options.size.height
        position = Position.from_sfen(view.sfen)
        if width < NARROW:
            yield from self._words()
            return
        kanji = shows_kanji(console.encoding)
        black, white = (Text(hand_text(position, colour, kanji)) for colour in (0, 1))
        board = Group(white, board_text(position, view.last_square, kanji), black)
        room = width if width < WIDE else width - BOARD_COLUMNS - 2
        panels: list[RenderableType] = [*self._progress(room), self._clocks(), self._last_move(), *self._sides()]
        if width >= WIDE or height >= TALL:
            panels += self._fleet(room)
        if view.page:
            panels.append(Text(say("live page: {url}", url=view.page), style="dim", overflow="ellipsis", no_wrap=True))
        panels += [Text(note, style="yellow", overflow="ellipsis", no_wrap=True) for note in tuple(view.notes)]
        if width < WIDE:
            yield Group(board, *panels)
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(width=BOARD_COLUMNS, no_wrap=True)
        grid.add_column(ratio=1)
        grid.add_row(board, Group(*panels))
        yield grid

    def _words(self) -> list[RenderableType]:
        """The view for a terminal that is too narrow for a board."""
        return [self._clocks(), self._last_move(), *self._sides()]

    def _progress(self, width: int) -> list[RenderableType]:
        """The progress of the game, and of the series that it belongs to, with the time left."""
        view, series = self.view, self._series
        gap = "  " if width >= _ONE_LINE else "\n"
        bars: list[RenderableType] = []
        if series is not None and series.total is not None and series.total > 1:
            left = series.left_s
            words = say("{done} of {total} games", done=series.done, total=series.total)
            words += "" if left is None or not left else gap + say("{time} left", time=span(left))
            bars.append(_bar(series.done, series.total, words))
        if view.most_plies and view.outcome is None:
            words = say("move {ply} of at most {most}", ply=view.ply, most=view.most_plies)
            if (left := view.left_at_most_s()) is not None:
                words += gap + say("at most {time} left", time=span(left))
            bars.append(_bar(view.ply, view.most_plies, words))
        return bars

    def _clocks(self) -> Text:
        view = self.view
        text = Text(no_wrap=True, overflow="ellipsis")
        for colour in (1, 0):
            running = colour == view.turn and view.outcome is None
            line = f"{SIDES[colour]} {clock_text(view.left_ms(colour)):>7}  {view.names[colour]}"
            text.append(line, style="bold" if running else "")
            text.append(("  ◀" if running else "") + ("\n" if colour else ""))
        return text

    def _last_move(self) -> Text:
        view = self.view
        if view.outcome is not None:
            return Text(result_words(view.outcome, view.names), style="bold green")
        if view.move is None:
            return Text(view.status)
        delay = "" if view.delay_ms is None else "  " + say("server's echo {ms} ms", ms=f"{view.delay_ms:.0f}")
        seconds = f"{view.move.consumed_ms / 1000:g}"
        move = view.notation.move(view.moved_from[0], view.move.usi, view.moved_from[1])
        return Text(say("move {ply}: {move}  ({seconds} s)", ply=view.ply, move=move, seconds=seconds) + delay)

    def _sides(self) -> list[RenderableType]:
        colours = (self.view.my_colour, self.view.my_colour ^ 1)
        return [text for colour in colours for text in _side(self.view.sides[colour], colour, self.view.notation)]

    def _fleet(self, width: int) -> list[RenderableType]:
        side = self.view.sides[self.view.my_colour]
        source = side.progress if side.decision is None or not side.decision.fleet else side.decision
        parts: list[RenderableType] = []
        if source is not None and source.fleet:
            parts.append(_fleet_table(source.fleet, side, self.view.my_colour, width, self.view.notation))
        if side.decision is not None and side.decision.ballots:
            parts.append(_votes(side, side.decision, self.view.my_colour, self.view.notation))
        return parts


def _bar(done: float, total: float, words: str) -> Table:
    line = Table.grid(padding=(0, 1))
    line.add_column(width=_BAR)
    line.add_column()
    line.add_row(ProgressBar(total, min(done, total), _BAR), Text(words))
    return line


def _side(side: SideView, colour: int, notation: Notation) -> Iterator[Text]:
    """``☗ depth 14  score +120  1.2M nodes …``, which a narrow panel wraps, and the variation, which it cuts."""
    source = side.decision or side.progress
    if source is None:
        return
    nps = source.nodes * 1000 // max(1, source.elapsed_ms)
    words = say(
        "{side} depth {depth}  score {score}  {nodes} nodes  {nps}/s  {seconds} s",
        side=SIDES[colour],
        depth=source.depth,
        score=score_text(source.score, colour),
        nodes=count_text(source.nodes),
        nps=count_text(nps),
        seconds=f"{source.elapsed_ms / 1000:.1f}",
    )
    yield Text(words)
    if source.pv:
        line = notation.line(side.sfen, source.pv, side.before, 8)
        yield Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis")


def _fleet_table(fleet: tuple[NodeView, ...], side: SideView, colour: int, width: int, notation: Notation) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column(say("node"), no_wrap=True, min_width=6)
    table.add_column(say("searches"), no_wrap=True, min_width=8)
    table.add_column(say("depth"), justify="right", min_width=5)
    table.add_column(say("score"), justify="right", min_width=6)
    table.add_column(say("nodes/s"), justify="right", min_width=7)
    if width >= 60:
        table.add_column(say("variation"), no_wrap=True, overflow="ellipsis", ratio=1)
    for node in fleet:
        cells = [
            node.node_id,
            notation.job(side.sfen, node.job, side.before) if node.alive else say("lost"),
            str(node.depth),
            score_text(node.score, colour),
            count_text(node.nps),
        ]
        if width >= 60:
            cells.append(notation.line(side.sfen, node.pv, side.before, 4))
        table.add_row(*cells, style="" if node.alive else "red")
    return table


def _votes(side: SideView, decision: Decision, colour: int, notation: Notation) -> Text:
    votes = ", ".join(
        f"{vote.voter} {notation.move(side.sfen, vote.move, side.before)} {score_text(vote.score, colour)}"
        for vote in decision.ballots
    )
    return Text(say("decided by {source}: {votes}", source=decision.source, votes=votes))
