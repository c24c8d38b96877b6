"""The number of rounds until the learning book leaves a losing line: the real player against an opponent that repeats
itself.

    python -m benchmarks.learning                       # 400 nodes a move against 8,000
    python -m benchmarks.learning --nodes 2000 --rounds 12 --white
    python -m benchmarks.learning --sweep 10 --rounds 4    # 400, 437, 474 … nodes, in both colours

Our player has ``--nodes`` nodes for each move, the opponent (the same engine) ``--stronger`` times as many; it repeats
in each game the moves of the game before. After each lost game the player studies that game (method II), and plays the
same opponent again. For each round it prints the result, and the ply at which the game left the line of the first loss
and that of the previous round.

With a node limit and one thread nothing depends on the machine's speed: the same command plays the same games.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog
import uvloop

from cluster.api import SILENT, Decision, Listener, SearchListener, SearchOrder, StartSearch
from cluster.drivers.local_driver import LocalSearcher
from cluster.engine_spec import EngineSpec
from master.book.opening import OpeningSettings
from master.book.service import BookService
from master.book.study import Studied, StudyingSearcher
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, next_search_id, play_game
from master.player.events import GameEvent, GameOutcome, MovePlayed
from master.player.instructions import Login, PlayerSettings
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions

GAME = "learning-9000-10F"
"""A game with enough time that only nodes limit a search."""


class Repeater(LocalSearcher):
    """An opponent that repeats its earlier answer to a line that it has seen."""

    def __init__(self, engine: EngineSpec) -> None:
        super().__init__(engine.build, name="repeater")
        self._played: dict[tuple[str, ...], Decision] = {}

    def handle(self, order: SearchOrder, listener: SearchListener = SILENT) -> None:
        if not isinstance(order, StartSearch):
            super().handle(order, listener)
            return
        request = order.request

        def decided(decision: Decision) -> None:
            self._played[request.moves] = decision
            listener.on_decision(decision)

        known = self._played.get(request.moves)
        if known is None:
            super().handle(order, replace(listener, on_decision=decided))
        else:
            again = replace(known, search_id=request.search_id)
            asyncio.get_running_loop().call_soon(listener.on_decision, again)


@dataclass(slots=True)
class Round:
    """A game, and the study after it."""

    outcome: GameOutcome
    moves: list[str] = field(default_factory=list)
    """Moves of both sides, in USI."""
    from_book: int = 0
    """Own moves out of the book."""
    studied: list[Studied] = field(default_factory=list)

    def leaves(self, other: Round) -> int | None:
        """The first ply that differs from another game; None if there is none."""
        pairs = itertools.zip_longest(self.moves, other.moves)
        return next((ply for ply, (one, two) in enumerate(pairs, start=1) if one != two), None)


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of the rounds that are played."""

    nodes: int = 400
    stronger: int = 20
    rounds: int = 8
    white: bool = False
    max_moves: int = 200
    hash_mb: int = 8
    net: str | None = None
    """A network file for both players; None: the one in the package."""


async def play_rounds(plan: Plan, learned: Path, on_round: Callable[[int, Round], None]) -> list[Round]:
    """Play until a game is not lost, or for ``plan.rounds`` games, and study after each loss.

    Args:
        learned: the book that learns; the player also uses its existing entries.
        on_round: called with each round, from 1 on.
    """
    engine = EngineSpec(plan.hash_mb, 1, plan.net)
    service = BookService(OpeningSettings(search_nodes=plan.nodes), learned)
    service.open()
    ours = StudyingSearcher(
        LocalSearcher(engine.build, name="gougi"), service, next_search_id, by_nodes=True, between_games=False
    )
    theirs = Repeater(engine)
    rounds: list[Round] = []
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=plan.max_moves))) as server:
        await ours.open(Listener())
        await theirs.open(Listener())
        try:
            for number in range(1, plan.rounds + 1):
                played = await _play(plan, ServerAddress(*server.address), ours, theirs, service)
                if played.outcome.conclusion == "LOSE":
                    ours.on_studied = played.studied.append
                    await ours.study()
                rounds.append(played)
                on_round(number, played)
                if played.outcome.conclusion != "LOSE":
                    break
        finally:
            await ours.close()
            await theirs.close()
            await service.close()
    return rounds


async def _play(
    plan: Plan,
    address: ServerAddress,
    ours: StudyingSearcher,
    theirs: Repeater,
    service: BookService,
) -> Round:
    moves: list[str] = []
    from_book = 0

    def observe(event: GameEvent) -> None:
        nonlocal from_book
        if isinstance(event, MovePlayed):
            moves.append(event.usi)
            from_book += bool(event.comment.book)

    common = PlayerSettings(ponder=False, resign_score=1500, resign_moves=3, nodes=plan.nodes, book_ms=2000)
    own = GameSettings(player=common, book=service)
    other = GameSettings(player=replace(common, nodes=plan.nodes * plan.stronger))
    sides = ("-W", "-B") if plan.white else ("-B", "-W")
    async with asyncio.TaskGroup() as group:
        mine = group.create_task(play_game(address, Login("gougi", f"{GAME}{sides[0]},x"), ours, own, [observe]))
        group.create_task(play_game(address, Login("other", f"{GAME}{sides[1]},x"), theirs, other))
    return Round(mine.result(), moves, from_book)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=Plan().nodes, help="nodes of our player for a move")
    parser.add_argument(
        "--stronger", type=int, default=Plan().stronger, help="the opponent's nodes for a move, as a multiple of ours"
    )
    parser.add_argument("--rounds", type=int, default=Plan().rounds)
    parser.add_argument("--white", action="store_true", help="we play white")
    parser.add_argument("--net", metavar="FILE", help="both players' network; default: the package's own")
    parser.add_argument("--sweep", type=int, default=0, metavar="N", help="N lines in each colour, and a summary")
    arguments = parser.parse_args()
    plan = Plan(arguments.nodes, arguments.stronger, arguments.rounds, arguments.white, net=arguments.net)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    if not arguments.sweep:
        show_line(plan)
        return
    lines = [
        show_line(replace(plan, nodes=plan.nodes + 37 * number, white=white))
        for number in range(arguments.sweep)
        for white in (False, True)
    ]
    print(summary([rounds for rounds in lines if rounds[0].outcome.conclusion == "LOSE"]))


def show_line(plan: Plan) -> list[Round]:
    """Play one line's rounds, and report each."""
    print(f"{plan.nodes} nodes against {plan.nodes * plan.stronger}, {'white' if plan.white else 'black'}")
    began = time.monotonic()
    rounds: list[Round] = []

    def tell(number: int, played: Round) -> None:
        rounds.append(played)
        outcome = played.outcome
        first = played.leaves(rounds[0])
        before = played.leaves(rounds[-2]) if number > 1 else None
        plies = ", ".join(
            f"{s.lesson.ply}: {s.decision.move} {s.decision.score}" for s in sorted(played.studied, key=_ply)
        )
        print(
            f"round {number}: {outcome.conclusion} ({outcome.reason}) in {outcome.plies} plies,"
            f" {played.from_book} own moves from the book; leaves the first game at ply {first}, the last at {before};"
            f" studied {plies or 'nothing'}",
            flush=True,
        )

    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(play_rounds(plan, Path(folder) / "learned.sqlite", tell))
    changed = next((number for number, played in enumerate(rounds, start=1) if played.leaves(rounds[0])), None)
    print(f"the first game's line is left in round {changed}; {time.monotonic() - began:.0f} s altogether", flush=True)
    return rounds


def summary(lines: list[list[Round]]) -> str:
    """A text with how often the game after a loss and its study was different."""
    follow = [(before, after) for rounds in lines for before, after in itertools.pairwise(rounds)]
    second = sum(rounds[1].leaves(rounds[0]) is not None for rounds in lines if len(rounds) > 1)
    other = sum(after.leaves(before) is not None for before, after in follow)
    saved = sum(rounds[-1].outcome.conclusion != "LOSE" for rounds in lines)
    lengths = [
        statistics.mean(rounds[number].outcome.plies for rounds in lines if len(rounds) > number)
        for number in range(max(map(len, lines)))
    ]
    return (
        f"{len(lines)} lost lines: {second} left in round 2; after {len(follow)} losses {other} other games,"
        f" {saved} lines no longer lost in the end; plies by round: {', '.join(f'{length:.0f}' for length in lengths)}"
    )


def _ply(studied: Studied) -> int:
    return studied.lesson.ply


if __name__ == "__main__":
    main()
