"""Options that several commands share: one name, one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from master.commands.checks import Kind, only

Json = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]
JsonAtEnd = Annotated[bool, typer.Option("--json", help="One JSON object at the end, for programs.")]

Nodes = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Nodes on this machine, as many as it has processors for. Default: 1, or one of each kind."
    ),
]
Address = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="A running Ray cluster. Default: one of our own.")
]
FleetAddress = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Address of a fleet's Ray, to play on that fleet; or auto.")
]
Single = Annotated[bool, typer.Option("--single", help="One searcher in this process, without a fleet.")]

PageOption = Annotated[
    str | None,
    typer.Option("--page", metavar="HOST:PORT|off", help="Address of the live page. Default: 127.0.0.1:4084."),
]

NOTATIONS = "japanese|usi"
NOTATION_HELP = "Moves on the terminal, as ☗７六歩 or as 7g7f."

NetFile = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        metavar="FILE",
        help="Network file (nn.bin). Default: our own.",
        callback=only(Kind.NET),
    ),
]
Architecture = Annotated[
    str,
    typer.Option(
        "--architecture",
        metavar="NAME",
        help="Shape of the network, such as halfkp_1024x2-8-64. Default: as its file's bytes say.",
    ),
]
FvScale = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        metavar="N",
        help="Raw output of the network for one centipawn. Default: the network's own value if known, else 16.",
    ),
]

LearnedFile = Annotated[
    Path | None,
    typer.Option(
        "--book",
        metavar="FILE",
        help="The book that learns. Default: [book] learn.",
        callback=only(Kind.LEARNED, Kind.BOOK),
    ),
]

Openings = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File of positions, one in each line (sfen ..., startpos moves ...), a .psv, from which positions are "
        "taken at random, or the folder of a match; or the word natural: 500 openings of good moves that are part of "
        "Gougi. Default: openings made at random.",
        callback=only(Kind.POSITIONS),
    ),
]
OpeningPlies = Annotated[
    int, typer.Option(min=0, max=60, metavar="N", help="Number of random moves of an opening made at random.")
]
OpeningBest = Annotated[
    int,
    typer.Option(
        "--opening-best",
        min=0,
        metavar="N",
        help="Each move of an opening made at random is one of the N best that the searcher finds. 0: any legal move.",
    ),
]
OpeningMargin = Annotated[
    int, typer.Option(min=10, metavar="CP", help="Largest score, in centipawns, of an opening made at random.")
]
