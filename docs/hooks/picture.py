"""Draw the screen of a game at one of its moves as an SVG file: the picture of README and of the site's first page.

    python docs/hooks/picture.py records/gougi-….jsonl --ply 46 --out docs/game.svg

The game is played again from its log, as `gougi replay` plays it. The SVG names no font of another host.
"""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path
from typing import Annotated, Final

import typer
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.terminal_theme import DIMMED_MONOKAI

from master.game.journal import Replay, read_log
from master.player.instructions import Emit
from master.ui.model import GameView
from master.ui.screen import GameScreen

FORMAT: Final = re.sub(r"@font-face {{.*?}}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code, monospace", "'Noto Sans Mono CJK JP', 'DejaVu Sans Mono', monospace"
)


class Cells:
    """The screen with each wide character as a piece of its own: rich gives a piece one place and one width."""

    def __init__(self, screen: GameScreen) -> None:
        self.screen = screen

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.screen, options):
            for wide, run in itertools.groupby(text, lambda letter: cell_len(letter) > 1):
                yield from (Segment(piece, style, control) for piece in (run if wide else ("".join(run),)))


def view_at(log: Path, player: str, ply: int) -> GameView:
    """The screen's model as it was when move ``ply`` was made, or at the end if the game has fewer moves."""
    [game] = [entry for entry in read_log(log, print) if entry.game_id and entry.name == player]
    again = Replay(game)
    now_s = 0.0
    view = GameView(lambda: now_s)
    for step in again.steps():
        now_s = step.at_ms / 1000
        for instruction in step.instructions:
            if isinstance(instruction, Emit):
                view.observe(instruction.event)
        if view.ply >= ply:
            break
    return view


def main(
    log: Path,
    out: Annotated[Path, typer.Option()],
    ply: Annotated[int, typer.Option(min=1)] = 40,
    player: Annotated[str, typer.Option()] = "gougi",
    columns: Annotated[int, typer.Option(min=76)] = 110,
) -> None:
    """Draw the screen at a move."""
    console = Console(
        record=True, width=columns, height=30, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    console.print(Cells(GameScreen(view_at(log, player, ply))))
    out.write_text(console.export_svg(title="gougi play", theme=DIMMED_MONOKAI, code_format=FORMAT), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
