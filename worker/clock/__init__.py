"""Both clocks of a game, and how long to think: pure, with the time as an argument (milliseconds of any fixed origin).

The server charges whole units (seconds) from the moment when it sent the opponent's move to the moment when our line
arrives, network included. Hence:

1. A move that is to cost ``k`` seconds may as well take ``k + 1`` seconds less a margin: fractions are free
   (`worker.clock.game_clock`).
2. The margin follows the line: what the server charges beyond what we measured is what lines take, there and back
   (`worker.clock.delays`). The hard limit keeps back more, for what a line did at its worst.
3. What was consumed is what the server's echo says, never what we measured.
4. The main time is spent by a trapezoid over the game, sooner where the game is being lost, and to its end where the
   move limit will end the game (`worker.clock.plan`). What moves cost for good, by the server's rules or by the line,
   is held for each that may still come, up to the limit (`worker.clock.plan`).
5. A move that is found early and stays is played early; one that changes late, a score that falls and voters that do
   not agree buy time (`worker.clock.outlook`).
6. What was found while pondering on the opponent's time is taken off, as far as that saves anything.

How to use it::

    clock = GameClock(summary.time, settings, turn=summary.to_move, now_ms=now)
    budget = clock.budget(now, ply, max_moves, known_ms, score)     # on our turn
    soft_ms = clock.reconsidered(watch.see(Signs(elapsed, move, score)), now)    # while we search
    clock.sent(now)                                                 # our line leaves
    clock.moved(consumed_ms, now)                                   # at each echo of the server
"""

from worker.clock.delays import Delays
from worker.clock.game_clock import GameClock, TimeBudget
from worker.clock.outlook import Outlook, Signs, Watch
from worker.clock.timecontrol import ClockSettings

__all__ = ["ClockSettings", "Delays", "GameClock", "Outlook", "Signs", "TimeBudget", "Watch"]
