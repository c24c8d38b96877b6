"""The plain view: a line for each move and each message, for pipes, logs and simple terminals; and the end of a game in
words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from master.player.events import Conclusion, GameBegan, GameEnded, GameEvent, GameOutcome, LoggedIn, MovePlayed
from master.records.notation import SIDES, Notation, clock_text, count_text, score_text
from master.ui.model import GameView, SideView
from master.ui.texts import later, say

_WON: Final = {
    "": later("as the server says"),
    "RESIGN": later("by resignation"),
    "TIME_UP": later("on time"),
    "ILLEGAL_MOVE": later("by an illegal move"),
    "ILLEGAL_ACTION": later("by an illegal action"),
    "OUTE_SENNICHITE": later("by perpetual check"),
    "JISHOGI": later("by declaration"),
}
_DRAWN: Final = {"SENNICHITE": later("by fourfold repetition"), "JISHOGI": later("by impasse")}
_CONCLUSIONS: Final = {Conclusion.WIN: later("won {how}"), Conclusion.LOSE: later("lost {how}")}


def result_words(outcome: GameOutcome, names: tuple[str, str]) -> str:
    """The result for a viewer: ``☗ gougi wins by resignation after 87 moves``."""
    if outcome.winner is not None:
        return say(
            "{side} {name} wins {how} after {plies} moves",
            side=SIDES[outcome.winner],
            name=names[outcome.winner],
            how=_how(outcome),
            plies=outcome.plies,
        )
    if _is_draw(outcome):
        return say("drawn {how} after {plies} moves", how=_how(outcome), plies=outcome.plies)
    return say("no result: {how} after {plies} moves", how=_how(outcome), plies=outcome.plies)


def own_result_words(outcome: GameOutcome) -> str:
    """The result from the player's own side: ``won by resignation``."""
    if _is_draw(outcome):
        return say("drawn {how}", how=_how(outcome))
    word = _CONCLUSIONS.get(outcome.conclusion)
    return say("no result: {how}", how=_how(outcome)) if word is None else say(word, how=_how(outcome))


def tally_words(outcomes: Sequence[GameOutcome]) -> str:
    """Several games from the player's own side: ``3 games: 2 won, 1 lost, 0 drawn``."""
    drawn = sum(map(_is_draw, outcomes))
    won, lost = (sum(each.conclusion is end for each in outcomes) for end in (Conclusion.WIN, Conclusion.LOSE))
    count, other = len(outcomes), len(outcomes) - drawn - won - lost
    words = say("{count} games: {won} won, {lost} lost, {drawn} drawn", count=count, won=won, lost=lost, drawn=drawn)
    return words + (say(", {other} without a result", other=other) if other else "")


def _is_draw(outcome: GameOutcome) -> bool:
    return outcome.conclusion is Conclusion.DRAW or (outcome.winner is None and outcome.reason == "MAX_MOVES")


def _how(outcome: GameOutcome) -> str:
    reason = outcome.reason
    if reason == "MAX_MOVES":
        limit = None if outcome.summary is None else outcome.summary.max_moves
        return say("by the {limit}-move limit", limit=limit) if limit else say("by the move limit")
    if reason == "CHUDAN":
        return say("stopped by the server")
    words = (_WON if outcome.winner is not None else _DRAWN).get(reason) or _WON.get(reason)
    return say(words) if words else f"({reason})"


_PV_MOVES: Final = 5


class LineView:
    """Writes events, line by line. Call it after `GameView.observe` has seen the event. ``write``: gets each line,
    without its line break."""

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
                self._write(result_words(outcome, view.names))

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
