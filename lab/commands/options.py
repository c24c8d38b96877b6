"""Options that several of the laboratory's commands share: one name, one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Resign = Annotated[
    int,
    typer.Option(min=0, metavar="CP", help="A side loses if both sides' scores agree that it is worse by this much."),
]
ResignMoves = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="For --resign: number of consecutive moves of each side with such scores."),
]
MaxMoves = Annotated[int, typer.Option(min=10, metavar="N", help="Number of moves after which a game is drawn.")]
Concurrency = Annotated[int, typer.Option(min=1, metavar="N", help="Games at a time.")]
Processes = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Processes on this machine. Default: its processors.")
]
Hash = Annotated[int, typer.Option("--hash", min=1, metavar="MB", help="Table of each searcher.")]
SprtBounds = Annotated[
    str | None,
    typer.Option(metavar="ELO0,ELO1", help="Start no more games once a test has decided between these Elo values."),
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder of the run. The same command continues it.")]
TeacherGames = Annotated[
    list[Path],
    typer.Option(
        "--data", exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi selfplay. May be repeated."
    ),
]
TrainingData = Annotated[
    list[Path],
    typer.Option(
        "--data",
        exists=True,
        metavar="FOLDER|FILE",
        help="Folder of gougi selfplay, a file of positions in the common format (.psv, PackedSfenValue), or a folder "
        "of such files. May be repeated.",
    ),
]
TeacherGamesFolder = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi selfplay.")
]

GROUP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
"""For a command with subcommands."""
