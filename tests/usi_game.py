"""A game of an engine with itself, in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def play_over_usi(command: Sequence[str], cwd: Path, env: Mapping[str, str], begin: str, go: str) -> None:
    """Eight different moves, each after ``go``, and an orderly end; ``begin`` has the lines after ``usi``."""
    moves: list[str] = []
    engine = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert engine.stdin is not None
    assert engine.stdout is not None
    with engine:
        engine.stdin.write(f"usi\n{begin}")
        while len(moves) < 8:
            position = " ".join(["position startpos", *(["moves", *moves] if moves else [])])
            engine.stdin.write(f"{position}\n{go}\n")
            engine.stdin.flush()
            for line in engine.stdout:
                if line.startswith("bestmove"):
                    moves.append(line.split()[1])
                    break
        engine.stdin.write("quit\n")
    assert engine.returncode == 0
    assert len(set(moves)) == 8
