"""Both clocks of a game, and how long to think: pure, with the time as an argument (milliseconds of any fixed origin).

The server charges whole units (seconds) from the moment when it sent the opponent's move to the moment when our line
arrives, network included. Hence:

1. A move that is to cost ``k`` seconds may as well take ``k + 1`` seconds less a margin: fractions are free
   (`worker.clock.game_clock`). The margin follows what lines take, there and back (`worker.clock.delays`); the hard
   limit keeps back more, for what a line did at its worst.
2. What was consumed is what the server's echo says, never what we measured.
3. The main time is spent by a trapezoid over the game, sooner where the game is being lost, and to its end where the
   move limit will end the game. What moves cost for good is held for each that may still come (`worker.clock.plan`).
4. A move that is found early and stays is played early; one that changes late, a score that falls and voters that do
   not agree buy time (`worker.clock.outlook`). What was found while pondering is taken off, as far as that saves time.
"""

from worker.clock.delays import Delays
from worker.clock.game_clock import GameClock, TimeBudget
from worker.clock.outlook import Outlook, Signs, Watch
from worker.clock.timecontrol import ClockSettings

__all__ = ["ClockSettings", "Delays", "GameClock", "Outlook", "Signs", "TimeBudget", "Watch"]
