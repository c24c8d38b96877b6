"""The outcome of a connection that has ended, from the state that the protocol was left in. Pure."""

from __future__ import annotations

from master.csa.protocol import CsaProtocol, State
from master.player.events import Conclusion, GameOutcome


def with_result(protocol: CsaProtocol, conclusion: Conclusion, reason: str, comment: str = "") -> GameOutcome:
    """The outcome with the server's result, or ``conclusion`` in its place; the player fills the game's own part in."""
    summary = protocol.summary
    winner = None
    if summary is not None and conclusion in (Conclusion.WIN, Conclusion.LOSE):
        winner = summary.my_colour ^ (conclusion is Conclusion.LOSE)
    return GameOutcome(conclusion, reason, summary, winner, comment=comment)


def line_lost(protocol: CsaProtocol, why: str) -> GameOutcome:
    """The outcome of a broken connection: the server's result is not known here."""
    return with_result(protocol, Conclusion.DISCONNECTED, f"{why}, {protocol.state.value}{_told(protocol)}")


def left(protocol: CsaProtocol, why: str) -> GameOutcome:
    """We left of our own accord, and the server says no more. A game that is played is lost by that: by our
    resignation, or with the opponent's next move, behind which the server resigns for who is not there."""
    if protocol.state is not State.PLAYING or protocol.reason not in ("", "RESIGN"):
        return with_result(protocol, Conclusion.ABORTED, why + _told(protocol))
    how = f"{protocol.sent} was not answered" if protocol.sent else "left on the opponent's turn"
    return with_result(protocol, Conclusion.LOSE, "RESIGN", f"{why}, {how}")


def _told(protocol: CsaProtocol) -> str:
    return f" (the server had said #{protocol.reason})" if protocol.reason else ""
