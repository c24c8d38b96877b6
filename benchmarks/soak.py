"""The USI engine under load: random positions, limits and interruptions, or many games in one process.

    python -m benchmarks.soak positions [--number N] [--seed S] [--hash 1,16,4096]
    python -m benchmarks.soak games [--number N] [--movetime MS] [--seed S]

Every answer is checked (`benchmarks.usi_dialogue`). A fault is printed with the step's whole dialogue; the exit code is
then 1. An answer in a game that is more than 50 ms late is shown with the time for which its processes had no processor
(`benchmarks.waiting`): any further delay is the engine's own. The running time of its threads shows whether it computed
or waited for something else. Steps depend only on the seed and their number: ``--first`` goes straight to one. Ctrl-C
prints the results so far.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rsshogi.core import Board
from rsshogi.types import RepetitionState

from benchmarks.figures import Figures
from benchmarks.playouts import STARTS
from benchmarks.usi_dialogue import Dialogue, Scene, SoakError
from worker.engine import EngineError
from worker.shogi import STARTPOS
from worker.usi.process import UsiProcess

ODD_STARTS = (
    "8k/8G/8P/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 2",  # mated
    "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1",  # mate in one
    "7nk/9/7GG/9/9/9/9/9/K8 b P 1",  # a pawn drop would mate
    "2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b RB 1",  # may declare by 27 points
    "9/5K3/9/9/9/9/9/9/4k4 b - 1",  # may enter by the try rule
    "k8/9/9/9/9/9/9/9/8K b 2R2B4G4S4N4L9P9p 1",  # 400 drops
    "l8/9/9/9/9/9/9/r8/K7k b 2G 1",  # in check, few moves
)
COMMAND = (sys.executable, "-m", "gougi", "usi", "--single")
QUICK = {"MinimumThinkingTime": "0", "NetworkDelay": "0", "NetworkDelay2": "0", "RoundUpToFullSecond": "false"}
MOMENTS = (0.0, 0.0, 0.001, 0.004, 0.02, 0.06)
BLOCK = 20
"""Steps with the same threads and table; changing them rebuilds the engine."""
MOST_PLIES = 320

Step = Callable[[Dialogue, random.Random, Scene], None]


def random_scene(rng: random.Random) -> Scene:
    """A position from a random game, given with its moves or by its SFEN alone."""
    odd = rng.random() < 0.25
    start = rng.choice(ODD_STARTS if odd else STARTS)
    board, made = Board(start), list[str]()
    for _ in range(rng.choice((0, 0, 1, 3)) if odd else rng.randrange(rng.choice((40, 160, 160, 700)))):
        moves = board.legal_moves()
        if not moves:
            break
        made.append(rng.choice(moves).to_usi())
        board.apply_usi(made[-1])
    if rng.random() < 0.3:
        return Scene(board, f"position sfen {board.to_sfen()}")
    head = "startpos" if start == STARTPOS else f"sfen {start}"
    return Scene(board, f"position {head}" + (f" moves {' '.join(made)}" if made else ""))


def random_options(rng: random.Random) -> dict[str, str]:
    """The search's options except table and threads."""
    return {
        "MultiPV": str(rng.choice((1, 1, 1, 2, 3, 5))),
        "EnteringKingRule": rng.choice(("CSARule27", "CSARule24", "NoEnteringKing", "TryRule")),
        "MaxMovesToDraw": rng.choice(("0", "0", "1", "120", "320")),
        "DrawValueBlack": str(rng.choice((-2, -100, 3000))),
        "DrawValueWhite": str(rng.choice((-2, -3000, 100))),
        "GenerateAllLegalMoves": rng.choice(("true", "false")),
        "PvInterval": rng.choice(("0", "300")),
    }


def random_clock(rng: random.Random) -> str:
    kind, most = rng.choice((("byoyomi", 80), ("binc", 60), ("btime", 1500)))
    times = {"btime": rng.choice((0, 1, 700)), "wtime": rng.choice((0, 1, 700)), kind: rng.randrange(most)}
    if kind == "binc":
        times["winc"] = rng.randrange(most)
    return " ".join(f"{name} {number}" for name, number in times.items())


def timed(dialogue: Dialogue, rng: random.Random, scene: Scene) -> None:
    """A search with a limit, sometimes stopped before it."""
    movetime = rng.choice((0, 1, 10, 40))
    limits = (
        random_clock(rng),
        f"movetime {movetime}",
        f"nodes {rng.choice((1, 50, 5000))}",
        f"depth {rng.randint(1, 5)}",
    )
    go = f"go {rng.choice(limits)}"
    if rng.random() < 0.2 and (moves := scene.board.legal_moves()):
        scene.searchmoves = tuple(move.to_usi() for move in rng.sample(moves, min(len(moves), rng.randint(1, 4))))
        go += f" searchmoves {' '.join(scene.searchmoves)}"
    began = time.monotonic()
    dialogue.say(go)
    if rng.random() < 0.25:
        time.sleep(rng.choice(MOMENTS))
        dialogue.say("stop")
        dialogue.answer(scene)
    else:
        dialogue.answer(scene, due_ms=movetime if "movetime" in go else None, began=began)


def infinite(dialogue: Dialogue, rng: random.Random, scene: Scene) -> None:
    """A search that ends by ``stop`` only."""
    dialogue.say("go infinite")
    dialogue.silent(rng.choice(MOMENTS))
    dialogue.answer(scene, stopped=True)
    if rng.random() < 0.3:
        dialogue.say("stop")


def ponder(dialogue: Dialogue, rng: random.Random, scene: Scene) -> None:
    """A search on the opponent's time, and its end by a hit or a miss."""
    dialogue.say(f"go ponder {random_clock(rng)}")
    dialogue.silent(rng.choice(MOMENTS))
    if rng.random() < 0.4:
        dialogue.answer(scene, stopped=True)
        return
    dialogue.say("ponderhit")
    if rng.random() < 0.4:
        time.sleep(rng.choice(MOMENTS))
        dialogue.say("stop")
    dialogue.answer(scene)


def mate(dialogue: Dialogue, rng: random.Random, scene: Scene) -> None:
    """A mate search; a claimed mate must be real."""
    limit = rng.choice(("infinite", "1", "30", "100"))
    dialogue.say(f"go mate {limit}")
    if limit == "infinite" or rng.random() < 0.3:
        time.sleep(rng.choice(MOMENTS))
        dialogue.say("stop")
    words = dialogue.hear("checkmate")[-1].split()[1:]
    if words[:1] not in (["nomate"], ["timeout"]) and not scene.check_pv(words).is_mated():
        raise SoakError(f"{' '.join(words)!r} does not mate after {scene.command!r}")


def overtaken(dialogue: Dialogue, rng: random.Random, scene: Scene) -> None:
    """A search that another command interrupts; it is still answered once, and the next command is obeyed."""
    dialogue.say(rng.choice(("go infinite", "go ponder btime 60000 wtime 60000", "go movetime 60000")))
    time.sleep(rng.choice(MOMENTS))
    if rng.random() < 0.3:
        rng.choice((set_and_stop, rebuild))(dialogue, scene)
        return
    other = random_scene(rng)
    between = ((other.command,), ("usinewgame",), ("gameover draw",), ("isready", "stop"), ("stop", "stop"), ())
    for command in (commands := rng.choice(between)):
        dialogue.say(command)
    dialogue.say("go depth 2")
    dialogue.answer(scene)
    dialogue.answer(other if other.command in commands else scene)


def set_and_stop(dialogue: Dialogue, scene: Scene) -> None:
    """An option that is set during a search applies to the next one."""
    dialogue.say("setoption name MultiPV value 2")
    dialogue.answer(scene, stopped=True)
    dialogue.options["MultiPV"] = "2"


def rebuild(dialogue: Dialogue, scene: Scene) -> None:
    """Another table during a search."""
    dialogue.set_options({"USI_Hash": "4"})
    dialogue.say("isready")
    dialogue.answer(scene)
    dialogue.hear("readyok")


STEPS: dict[Step, int] = {timed: 8, infinite: 3, ponder: 4, mate: 2, overtaken: 3}


def soak_positions(dialogue: Dialogue, seed: int, first: int, number: int, tables: list[str]) -> Iterator[str]:
    """Run the steps; yields each one's name when it is done."""
    for step in range(first, first + number):
        block = random.Random(f"{seed} block {step // BLOCK}")
        rng = random.Random(f"{seed} {step}")
        dialogue.log.clear()
        dialogue.set_options({"USI_Hash": block.choice(tables), "Threads": str(block.randint(1, 2))})
        dialogue.set_options(QUICK | random_options(rng))
        dialogue.ready()
        scene = random_scene(rng)
        dialogue.say(scene.command)
        run = rng.choices(list(STEPS), list(STEPS.values()))[0]
        dialogue.note(f"step {step}: {run.__name__}, options {dialogue.options}")
        run(dialogue, rng, scene)
        dialogue.ready()
        yield run.__name__


def play_game(dialogue: Dialogue, rng: random.Random, movetime: int) -> str:
    """One game against itself; returns how it ended."""
    board, made = Board(), list[str]()
    dialogue.log.clear()
    dialogue.say("usinewgame")
    for _ in range(6):
        made.append(rng.choice(board.legal_moves()).to_usi())
        board.apply_usi(made[-1])
    go = rng.choice((f"movetime {movetime}", f"btime 0 wtime 0 byoyomi {movetime}"))
    while len(made) < MOST_PLIES:
        scene = Scene(board, f"position startpos moves {' '.join(made)}")
        dialogue.say(scene.command)
        dialogue.watch()
        began = time.monotonic()
        dialogue.say(f"go {go}")
        best = dialogue.answer(scene, due_ms=movetime, began=began)
        if best in ("resign", "win"):
            return best
        made.append(best)
        board.apply_usi(best)
        if board.repetition_state() in (RepetitionState.DRAW, RepetitionState.WIN, RepetitionState.LOSE):
            return f"repetition {board.repetition_state().to_usi().removeprefix('rep_')}"
    return f"{MOST_PLIES} plies"


def soak_games(dialogue: Dialogue, seed: int, first: int, number: int, movetime: int) -> Iterator[str]:
    """Play the games; yields how each one ended."""
    dialogue.set_options(QUICK | {"USI_Hash": "16"})
    dialogue.ready()
    for game in range(first, first + number):
        yield play_game(dialogue, random.Random(f"{seed} game {game}"), movetime)


def report(dialogue: Dialogue, number: int, run: Callable[[Dialogue], Iterator[str]]) -> int:
    """Run to the end, to the first fault or to Ctrl-C; print the figures. The exit code."""
    done: Counter[str] = Counter()
    code, before = 0, 0.0
    try:
        for name in track(run(dialogue), total=number, console=Console(stderr=True), transient=True):
            done[name] += 1
            before = before or dialogue.memory_mb()
    except (SoakError, EngineError) as error:
        print("\n".join(dialogue.log))
        print(f"FAILED after {done.total()}: {error}")
        code = 1
    except KeyboardInterrupt:
        code = 130
    stop, overrun = Figures(dialogue.stop_ms), Figures(dialogue.overrun_ms)
    figures: dict[str, Any] = {"done": dict(done), "stop_ms": stop.facts(), "overrun_ms": overrun.facts()}
    figures["late"] = [
        {
            "command": late.command,
            "overrun_ms": round(late.overrun_ms, 1),
            "without_a_processor_ms": round(late.waited_ms, 1),
            "threads_ran_ms": [round(ran, 1) for ran in late.ran_ms],
        }
        for late in dialogue.late
    ]
    figures["worst_of_our_own_ms"] = round(max((late.own_ms for late in dialogue.late), default=0.0), 1)
    if code == 0:
        figures["memory_mb"] = {"after_one": round(before), "in_the_end": round(dialogue.memory_mb())}
    print(json.dumps(figures))
    dialogue.engine.quit()
    return code


app = typer.Typer(add_completion=False, help=__doc__.splitlines()[0], rich_markup_mode=None)
Number = Annotated[int, typer.Option(min=1, help="Steps or games.")]
First = Annotated[int, typer.Option(min=0, help="The first one's number.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


@app.command()
def positions(
    number: Number = 1000,
    first: First = 0,
    seed: Seed = 1,
    tables: Annotated[str, typer.Option("--hash", metavar="MB,MB", help="Table sizes to go through.")] = "1,16",
) -> None:
    """Random positions, limits, options and interruptions."""
    dialogue = Dialogue(UsiProcess(COMMAND, 60))
    raise typer.Exit(report(dialogue, number, lambda d: soak_positions(d, seed, first, number, tables.split(","))))


@app.command()
def games(
    number: Number = 100,
    first: First = 0,
    seed: Seed = 1,
    movetime: Annotated[int, typer.Option(min=1, help="ms for each move.")] = 20,
) -> None:
    """Games against itself, one after the other in one process."""
    dialogue = Dialogue(UsiProcess(COMMAND, 60))
    raise typer.Exit(report(dialogue, number, lambda d: soak_games(d, seed, first, number, movetime)))


if __name__ == "__main__":
    app()
