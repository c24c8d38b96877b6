"""Every metric of a player's games; those of its fleet are in `cluster.metrics.catalogue`."""

from __future__ import annotations

from typing import Final

from cluster.metrics.catalogue import MOVE_S, SHORT_S, Kind, Metric
from master.player.events import Conclusion

RESULTS: Final = tuple(conclusion.value.lower() for conclusion in Conclusion)
SIDES: Final = ("own", "opponent")
LEVELS: Final = ("warning", "error")

BUILD: Final = Metric(
    "gougi_build_info", Kind.GAUGE, "Always 1: the version that runs, and the player's name.", ("version", "player")
)
MESSAGES: Final = Metric("gougi_log_messages_total", Kind.COUNTER, "Grave messages of the log.", ("level",), LEVELS)
RUNNING: Final = Metric("gougi_game_running", Kind.GAUGE, "1 while a game is played, else 0.")
PLY: Final = Metric("gougi_game_moves", Kind.GAUGE, "Moves of the running game, or of the last one.")
GAMES: Final = Metric(
    "gougi_games_total", Kind.COUNTER, "Games that were begun and are over, by result.", ("result",), RESULTS
)
MOVES: Final = Metric("gougi_own_moves_total", Kind.COUNTER, "Own moves that the server has confirmed.")
BOOK_MOVES: Final = Metric("gougi_book_moves_total", Kind.COUNTER, "Of these: from a book.")
CLOCK_USED: Final = Metric(
    "gougi_clock_used_seconds", Kind.HISTOGRAM, "What the server charged for an own move.", buckets=MOVE_S
)
CLOCK_LEFT: Final = Metric(
    "gougi_clock_left_seconds", Kind.GAUGE, "Main time left after the last move, by side.", ("side",)
)
FLAG_MARGIN: Final = Metric(
    "gougi_flag_margin_seconds",
    Kind.GAUGE,
    "What was left before the flag, byoyomi and increment counted, when the last own move was charged.",
)
FLAG_MARGIN_LEAST: Final = Metric(
    "gougi_flag_margin_least_seconds", Kind.GAUGE, "The least of these in the running game, or in the last one."
)
ECHO: Final = Metric(
    "gougi_server_echo_seconds", Kind.HISTOGRAM, "From an own line to the server's echo of it.", buckets=SHORT_S
)

GAME: Final = (
    BUILD, MESSAGES, RUNNING, PLY, GAMES, MOVES, BOOK_MOVES, CLOCK_USED, CLOCK_LEFT, FLAG_MARGIN, FLAG_MARGIN_LEAST,
    ECHO,
)  # fmt: skip
"""Metrics of the master about its games."""
