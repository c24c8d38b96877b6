"""Both clocks of a game, and how long to think. Pure: the time is an argument (milliseconds from any fixed origin).

The server charges whole units (seconds) from the moment when it sends the opponent's move to the moment when our line
arrives, network included. Hence:

1. A move that is to cost ``k`` seconds may take ``k + 1`` seconds less a margin: fractions are free
   (`worker.clock.game_clock`). The margin follows the measured round trip (`worker.clock.delays`); the hard limit keeps
   a larger margin, for the worst delay so far.
2. The time consumed is the one in the server's echo, never our own measurement.
3. The main time is spread over the game as a trapezoid. It is spent sooner if the game is being lost, and completely if
   the move limit will end the game. The unavoidable cost of each later move is held in reserve (`worker.clock.plan`).
4. A move that is found early and stays the best is played early. A late change, a falling score and disagreeing voters
   add time (`worker.clock.outlook`). Search done while pondering is deducted, as far as that saves time.
"""

from worker.clock.delays import Delays
from worker.clock.game_clock import GameClock, TimeBudget
from worker.clock.outlook import Outlook, Signs, Watch
from worker.clock.timecontrol import ClockSettings

__all__ = ["ClockSettings", "Delays", "GameClock", "Outlook", "Signs", "TimeBudget", "Watch"]
