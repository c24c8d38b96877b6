"""A USI engine that plays the number of its position's moves, which shows wrong, missing and doubled answers."""

from __future__ import annotations

import sys
import time


def main() -> None:
    position = ""
    for line in sys.stdin:
        with open(sys.argv[1], "a") as log:
            log.write(line)
        match line.split():
            case ["usi"]:
                print("id name Scripted\nusiok", flush=True)
            case ["isready"]:
                print("readyok", flush=True)
            case ["position", *words]:
                position = words[-1]
            case ["go", *words]:
                time.sleep(int(words[-1]) / 1000)
                print(f"info depth 1 pv {position}\nbestmove {position}", flush=True)
            case ["quit"]:
                return


if __name__ == "__main__":
    main()
