"""``gougi perft``, ``eval``, ``bench`` and ``warm``: one searcher, on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from master.commands.checks import check_net
from master.commands.common import CommandError, EndsOn, compile_searcher, interruptible
from master.commands.options import Architecture, FvScale, Json
from worker.files import reason

SFEN_HELP = 'Position as SFEN, such as "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1".'


def perft(
    depth: Annotated[int, typer.Argument(min=0, max=20, metavar="N", help="Plies to go down.")],
    sfen: Annotated[str, typer.Option(metavar="SFEN", help=SFEN_HELP + " Default: the start position.")] = "",
) -> None:
    """Count the legal move sequences of N plies: a test of the rules.

    Examples:

      gougi perft 4

      gougi perft 2 --sfen "8k/9/9/9/9/9/9/9/K8 b 2P 1"
    """
    from worker.shogi import Position, SfenError

    with EndsOn(SfenError, where="--sfen"):
        position = Position.from_sfen(sfen) if sfen else Position.startpos()
    compile_searcher()
    print(interruptible(lambda: position.perft(depth)))


def evaluate(
    sfen: Annotated[str, typer.Option(metavar="SFEN", help=SFEN_HELP + " Default: the start position.")] = "",
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help='A file with one SFEN in each line ("-": standard input).'),
    ] = None,
    net: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Network file (nn.bin) or its folder. Default: the one that ships with Gougi."
        ),
    ] = "",
    fv_scale: FvScale = None,
    architecture: Architecture = "",
) -> None:
    """Evaluate positions with the network, without a search.

    It prints a line for each position: the SFEN, the network's raw output before FV_SCALE, and centipawns,
    separated by tabs. Both values are from the view of the side to move.

    Examples:

      gougi eval

      gougi eval --file positions.txt --net nn.bin
    """
    from worker.nnue import NnueState, centipawns, default_network, load_network
    from worker.nnue import evaluate_full as raw_output
    from worker.shogi import STARTPOS, Position, SfenError

    if sfen and file:
        raise CommandError("give --sfen or --file, not both")
    net = check_net(net, "--net", architecture)
    network = load_network(net, fv_scale=fv_scale, architecture=architecture) if net else default_network()
    scale = fv_scale or network.fv_scale
    positions = list(_sfen_lines(file)) if file else [("--sfen", sfen or STARTPOS)]
    if not positions:
        raise CommandError(f"--file: {file}: no position in it")
    compile_searcher()
    state = NnueState(network)
    for where, text in positions:
        with EndsOn(SfenError, where=where):
            position = Position.from_sfen(text)
        raw = int(raw_output(position.record, state.record))
        print(f"{text}\t{raw}\t{int(centipawns(raw, scale))}")


def _sfen_lines(file: Path) -> Iterator[tuple[str, str]]:
    """Each SFEN with its place in words; blank lines are skipped."""
    try:
        text = sys.stdin.read().removeprefix("\ufeff") if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--file: {file}: {reason(error)}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield f"{file}, line {number}", line.strip()


def bench(
    as_json: Json = False,
    depth: Annotated[
        int | None,
        typer.Option(min=1, max=60, metavar="N", help="Plies to search each position. Default: 12."),
    ] = None,
    net: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Network file (nn.bin) or its folder. Default: the one that ships with Gougi."
        ),
    ] = "",
    architecture: Architecture = "",
) -> None:
    """Search fixed positions to a fixed depth. One thread: a measure of speed, and a fingerprint of the search.

    The signature is a hash of the node counts: the same in every process, and changed by any change of the search
    tree. nps is nodes a second of wall time.

    Examples:

      gougi bench

      gougi bench --json --depth 10
    """
    net = check_net(net, "--net", architecture)
    compile_searcher()
    from worker.engine import EngineError
    from worker.search.bench import DEFAULT_DEPTH, run_bench

    plies = depth or DEFAULT_DEPTH

    def tell(number: int, nodes: int) -> None:
        if not as_json:
            print(f"position {number + 1}: {nodes} nodes", flush=True)

    with EndsOn(EngineError, where="--net"):
        result = interruptible(lambda: run_bench(plies, net or None, tell, architecture=architecture))
    if as_json:
        facts = {
            "nodes": result.total,
            "nps": result.nps,
            "signature": result.signature,
            "time_ms": result.time_ms,
            "depth": plies,
            "nodes_by_position": result.nodes,
        }
        print(json.dumps(facts))
    else:
        print(f"depth {plies}: {result.total} nodes, {result.time_ms} ms, {result.nps} nodes/s")
        print(f"signature {result.signature}")


def warm(
    pack: Annotated[
        Path | None,
        typer.Option("--pack", metavar="FILE", help="Then write the compiled code to a file, for other machines."),
    ] = None,
    unpack: Annotated[
        Path | None, typer.Option("--unpack", metavar="FILE", help="Take compiled code from such a file first.")
    ] = None,
) -> None:
    """Compile the searcher now. Nothing has to wait for it later.

    If everything is compiled already, it does nothing. The compiled code goes to GOUGI_CACHE_DIR (default:
    ~/.cache/gougi), and is for this CPU level, these sources, and these versions of Python, numba, llvmlite and numpy.
    A file for anything else is refused. Take such a file only from a source that you trust with your account: it is a
    program.

    Examples:

      gougi warm

      gougi warm --pack gougi.pack

      gougi warm --unpack gougi.pack
    """
    if unpack is not None:
        from worker.pack import PackError
        from worker.pack import unpack as use

        with EndsOn(PackError, OSError):
            interruptible(lambda: use(unpack))
    compile_searcher()
    if pack is not None:
        from worker.pack import PackError
        from worker.pack import pack as write

        with EndsOn(PackError, OSError):
            digest = write(pack)
        print(f"{digest}  {pack}")
