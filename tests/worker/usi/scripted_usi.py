"""A USI engine that does what its arguments say, for tests: ``python scripted_usi.py [FAULT ...]``.

Faults: ``silent`` (no usiok), ``slow-start``, ``no-ready``, ``crash-on-go``, ``crash-once FILE``, ``hang``,
``illegal``, ``false-win``, ``garbage``, ``noisy`` (fills the stderr pipe), ``die-at-start``, ``refuse-ready``,
``blank`` (empty lines everywhere), ``book`` (moves without a search), ``changes`` (its mind, at the end).
``log FILE`` appends each line that it hears to FILE; ``named NAME`` is its ``id name``.
"""

from __future__ import annotations

import os
import sys
import time

FAULTS = sys.argv[1:]
LOG = FAULTS[FAULTS.index("log") + 1] if "log" in FAULTS else None
NAME = FAULTS[FAULTS.index("named") + 1] if "named" in FAULTS else "Scripted 1.0"


def say(text: str) -> None:
    print(text, flush=True)


def go(words: list[str]) -> None:
    if "crash-on-go" in FAULTS:
        print("unknown option in go", file=sys.stderr, flush=True)
        sys.exit(3)
    if "crash-once" in FAULTS:
        mark = FAULTS[FAULTS.index("crash-once") + 1]
        if not os.path.exists(mark):
            with open(mark, "w", encoding="utf-8"):
                os._exit(4)
    if "noisy" in FAULTS:
        print("x" * 200_000, file=sys.stderr, flush=True)
    if "garbage" in FAULTS:
        for line in (
            "",
            "banner",
            "info",
            "info depth",
            "info depth x score cp",
            "info score mate pv 7g7f",
            "info nodes",
        ):
            say(line)
        say("info depth 1 score cp 1 pv 1a1b")
        say("info string nodes 99")
    say("info depth 3 seldepth 5 score cp 12 lowerbound nodes 50 time 2 pv 2g2f")
    say("info depth 4 seldepth 6 multipv 1 score cp 34 nodes 100 nps 5000 hashfull 7 time 20 pv 7g7f 3c3d rep_draw")
    say("info depth 4 seldepth 6 multipv 2 score mate -4 nodes 120 time 20 pv 2g2f 8c8d")


def main() -> None:
    if "die-at-start" in FAULTS:
        print("no network file", file=sys.stderr)
        sys.exit(7)
    for raw in sys.stdin:
        words = raw.split()
        if LOG:
            with open(LOG, "a", encoding="utf-8") as file:
                file.write(raw)
        if "blank" in FAULTS:
            say("")
        match words[:1]:
            case ["usi"]:
                if "silent" in FAULTS:
                    continue
                if "slow-start" in FAULTS:
                    time.sleep(0.5)
                say(f"id name {NAME}")
                say("option name USI_Hash type spin default 16 min 1 max 1024")
                say("option name MultiPV type spin default 1 min 1 max 10")
                say("option name MaxMovesToDraw type spin default 0 min 0 max 1000")
                say("option name DrawValueBlack type spin default -2 min -300 max 300")
                say("option name Skill Level type spin default 20 min -20 max 20")
                say("option name Style type combo default calm var calm var wild one")
                say("option name Own Book type check default true")
                say("option name Clear type button")
                say("option name EvalFile type string default <empty>")
                say("usiok")
            case ["isready"] if "refuse-ready" in FAULTS:
                say("info string error: nn.bin: no such file")
                sys.exit(6)
            case ["isready"] if "no-ready" not in FAULTS:
                say("readyok")
            case ["go"]:
                if "book" not in FAULTS:
                    go(words)
                if "illegal" in FAULTS:
                    say("bestmove 1a9i")
                elif "false-win" in FAULTS:
                    say("bestmove win")
                elif "changes" in FAULTS:
                    say("info depth 5 score cp 40 lowerbound nodes 130 pv 2g2f 8c8d")
                    say("bestmove 2g2f")
                elif "hang" not in FAULTS and "infinite" not in words:
                    move = words[words.index("searchmoves") + 1] if "searchmoves" in words else "7g7f"
                    say(f"bestmove {move} ponder 3c3d")
            case ["stop"] if "hang" not in FAULTS:
                say("bestmove 7g7f ponder 9a9b+")
            case ["quit"]:
                return


main()
