"""Storms of supervision in virtual time: nodes, supervisors, raylets and Ray die, machines freeze, join and go.

Each time the fleet must be whole again (`tests.cluster.supervision`).

    python -m benchmarks.supervision --seeds 500 --faults 60

Exit code 1 if a storm found a fault; its seed is printed, and the same seed gives the same storm.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tests.cluster.supervision import storm


def main(
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many storms.")] = 200,
    first: Annotated[int, typer.Option(min=0, metavar="N", help="The first seed.")] = 0,
    faults: Annotated[int, typer.Option(min=1, metavar="N", help="Faults in each.")] = 60,
    patience: Annotated[float, typer.Option(min=1, metavar="S", help="Virtual seconds to be whole again.")] = 60.0,
) -> None:
    """Play the storms and print the faults."""
    began, found, searches = time.monotonic(), 0, 0
    for seed in range(first, first + seeds):
        try:
            searches += storm(seed, faults, patience).storm.starts
        except AssertionError as error:
            found += 1
            typer.echo(f"seed {seed}: {error}", err=True)
    seconds = time.monotonic() - began
    typer.echo(f"{seeds} storms of {faults} faults, {searches} searches, in {seconds:.0f} s: {found} found something")
    raise typer.Exit(1 if found else 0)


if __name__ == "__main__":
    typer.run(main)
