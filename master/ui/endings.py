"""The end of a game, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from master.player.events import Conclusion, GameOutcome
from master.records.notation import SIDES
from master.ui.texts import later, say

_WON: Final = {
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
