"""Fuzzing, guided by coverage: each reader of foreign bytes gets inputs until it fails or the time is over.

    python -m benchmarks.fuzz csa usi --seconds 600
    python -m benchmarks.fuzz --list

Each target runs in a separate process under libFuzzer (by atheris). Inputs that reach new branches are kept in
``runs/fuzz/TARGET``, and the next run starts with them; an input that fails is written to ``runs/fuzz/TARGET-failed``,
and ``python -m benchmarks.fuzz TARGET --input FILE`` shows its traceback again.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.fuzz import files, network, usi
from benchmarks.fuzz.target import Target
from worker.warm import warm_up

TARGETS: dict[str, type[Target]] = {
    target.name: target
    for target in (
        network.Channel,
        network.CsaServer,
        network.CsaClient,
        usi.Fleet,
        usi.Single,
        usi.Engine,
        files.Sfen,
        files.Records,
        files.Network,
        files.BinaryBooks,
        files.Books,
        files.FloodgateRecords,
        files.Logs,
        files.Settings,
    )
}


def main(
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET…", help="Default: all.")] = None,
    seconds: Annotated[int, typer.Option(min=1, metavar="N", help="Time for each target.")] = 600,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the inputs.")] = Path("runs/fuzz"),
    input_file: Annotated[
        Path | None, typer.Option("--input", exists=True, dir_okay=False, metavar="FILE", help="Feed this one only.")
    ] = None,
    names: Annotated[bool, typer.Option("--list", help="Show the targets.")] = False,
) -> None:
    """Feed each TARGET for some time. Exit code 1: one of them failed."""
    if names:
        for name, target in TARGETS.items():
            typer.echo(f"{name:12} {(target.__doc__ or '').splitlines()[0]}")
        return
    for name in targets or []:
        if name not in TARGETS:
            raise typer.BadParameter(f"no target {name!r}; there are {', '.join(TARGETS)}")
    chosen = targets or list(TARGETS)
    if input_file is not None:
        for name in chosen:
            TARGETS[name]().one(input_file.read_bytes())
        return
    # Otherwise compilation would happen within an input, which would count as a hang.
    warm_up()
    failed = [name for name in chosen if not _fuzz(name, seconds, folder)]
    if failed:
        typer.echo(f"failed: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


def _fuzz(name: str, seconds: int, folder: Path) -> bool:
    """Run one target in its process; returns whether it found no fault."""
    corpus, faults = folder / name, folder / f"{name}-failed"
    for path in (corpus, faults):
        path.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name]().seeds()):
        (corpus / f"seed-{number:02}").write_bytes(seed)
    began = time.monotonic()
    log = folder / f"{name}.log"
    with log.open("w") as output:
        code = subprocess.run(
            [
                sys.executable,
                "-m",
                "benchmarks.fuzz.run",
                name,
                f"-max_total_time={seconds}",
                f"-artifact_prefix={faults}/",
                "-max_len=16384",
                "-timeout=30",
                "-rss_limit_mb=4096",
                str(corpus),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    lines = log.read_text(errors="replace").splitlines()
    counts = [line for line in lines if line.startswith("Done ")]
    spent = time.monotonic() - began
    if code == 0 and counts:
        typer.echo(f"{name}: nothing found; {counts[-1].removeprefix('Done ')}")
        return True
    words = [line for line in lines if "Error" in line or "Exception" in line]
    typer.echo(f"{name}: failed after {spent:.0f} s: {words[-1].strip() if words else f'exit code {code}'} ({log})")
    return False


if __name__ == "__main__":
    typer.run(main)
