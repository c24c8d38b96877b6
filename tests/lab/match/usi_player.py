"""A USI engine that moves its rook to and fro from the start position: ``python usi_player.py [WORD VALUE …]``.

Two of them repeat the position for the fourth time after 12 plies. Words: ``name NAME``; ``score CP`` (its own view);
``resign-at PLY``, ``illegal-at PLY``, ``crash-at PLY``, ``hang-at PLY`` ``win-at PLY`` (moves made before; ``any``);
``once FILE`` (the fault above happens only if FILE does not exist, and creates it); ``delay S`` (before each move);
``remove FILE`` (as it crashes); ``log FILE`` (gets its process id and each line of its input).
"""

from __future__ import annotations

import os
import sys
import time

WORDS = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
SHUFFLE = ("2h3h", "8b7b", "3h2h", "7b8b")


def say(text: str) -> None:
    print(text, flush=True)


def at(fault: str, ply: int) -> bool:
    """Whether a fault is due now."""
    if WORDS.get(fault) not in ("any", str(ply)):
        return False
    if "once" in WORDS:
        if os.path.exists(WORDS["once"]):
            return False
        with open(WORDS["once"], "w", encoding="utf-8"):
            pass
    return True


def main() -> None:
    ply = 0
    for raw in sys.stdin:
        if "log" in WORDS:
            with open(WORDS["log"], "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {raw}")
        match raw.split():
            case ["usi"]:
                say(f"id name {WORDS.get('name', 'Shuffler')}")
                say("option name USI_Hash type spin default 16 min 1 max 1024")
                say("option name Threads type spin default 1 min 1 max 8")
                say("usiok")
            case ["isready"]:
                say("readyok")
            case ["position", *words]:
                ply = len(words) - words.index("moves") - 1 if "moves" in words else 0
            case ["go", *_]:
                if "delay" in WORDS:
                    time.sleep(float(WORDS["delay"]))
                move = SHUFFLE[ply % 4]
                say(f"info depth 3 seldepth 4 score cp {WORDS.get('score', '10')} nodes 100 time 2 pv {move}")
                say("info depth 4 score cp 9999 lowerbound nodes 120 pv 1g1f")
                if at("crash-at", ply):
                    print("the engine is out of order", file=sys.stderr, flush=True)
                    if "remove" in WORDS:
                        os.unlink(WORDS["remove"])
                    os._exit(4)
                if at("hang-at", ply):
                    continue
                if at("illegal-at", ply):
                    move = "1a9i"
                elif at("resign-at", ply):
                    move = "resign"
                elif at("win-at", ply):
                    move = "win"
                say(f"bestmove {move}")
            case ["quit"]:
                return


main()
