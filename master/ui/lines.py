"""The plain view: a line for each move and each message, for pipes, logs and terminals that cannot do more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from master.player.events import GameBegan, GameEnded, GameEvent, LoggedIn, MovePlayed
from master.records.notation import Notation, clock_text, count_text, score_text
from master.ui.model import GameView, SideView
from master.ui.screen import result_text
from master.ui.texts import say

_PV_MOVES: Final = 5


class LineView:
    """Writes what happens, line by line. Call it after `GameView.observe` has seen the event.

    Args:
        write: gets each line, without its line break.
    """

    def __init__(self, view: GameView, write: Callable[[str], None]) -> None:
        self._view = view
        self._write = write

    def observe(self, event: GameEvent) -> None:
        """The player's own events."""
        view = self._view
        match event:
            case LoggedIn():
                self._write(view.status)
            case GameBegan(summary):
                self._write(say("game {id}", id=summary.game_id) + f": ☗ {summary.names[0]}  ☖ {summary.names[1]}")
            case MovePlayed():
                self._write(self._move_line(event))
            case GameEnded(outcome) if outcome.played:
                self._write(result_text(view))

    def _move_line(self, played: MovePlayed) -> str:
        sfen, before = self._view.moved_from
        notation = self._view.notation
        move = notation.move(sfen, played.usi, before)
        clocks = " ".join(clock_text(left) for left in played.clocks.left_ms)
        words = [f"{played.ply:>3} {move} {played.consumed_ms / 1000:g}s [{clocks}]"]
        side = self._view.sides[played.colour]
        if side.sfen == sfen:
            words += _side_words(side, played.colour, notation)
        return "  ".join(words)


def _side_words(side: SideView, colour: int, notation: Notation) -> list[str]:
    source = side.decision or side.progress
    if source is None:
        return []
    if side.decision is not None and side.decision.source == "forced":
        return [say("forced")]
    words = [say("depth {depth}", depth=source.depth), score_text(source.score, colour)]
    words += [
        f"{node.node_id} {notation.job(side.sfen, node.job, side.before)} {count_text(node.nps)}/s"
        if node.alive
        else say("{node} lost", node=node.node_id)
        for node in source.fleet
    ]
    if side.decision is not None and side.decision.ballots:
        votes = (f"{vote.voter}:{notation.move(side.sfen, vote.move, side.before)}" for vote in side.decision.ballots)
        words.append(say("votes") + " " + " ".join(votes))
    words.append(notation.line(side.sfen, source.pv, side.before, _PV_MOVES))
    return words
