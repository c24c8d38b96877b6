"""Writes `master/live/static/glyphs.js`: outlines of the board's kanji, for browsers without a Japanese font.

Run by hand, with fontTools and Noto Serif CJK (Debian: fonts-noto-cjk); docs/how-to/live-page.md has the command.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

PIECES: Final = "歩香桂銀金角飛玉と杏圭全馬龍"
NUMBERS: Final = "一二三四五六七八九十"
MARK: Final = "合議"


def main(font_file: str) -> None:
    """Take the outlines from ``font_file``, a TTC or OTF of 1000 units to the em."""
    from fontTools.pens.svgPathPen import SVGPathPen
    from fontTools.ttLib import TTCollection

    font = TTCollection(font_file).fonts[0]
    names, glyphs = font.getBestCmap(), font.getGlyphSet()
    lines = []
    for sign in PIECES + NUMBERS + MARK:
        pen = SVGPathPen(glyphs, ntos=lambda number: str(round(number)))
        glyphs[names[ord(sign)]].draw(pen)
        lines.append(f'  "{sign}": "{pen.getCommands()}",')
    text = [
        "// Outlines of kanji, 1000 units to the em, y upwards: Noto Serif CJK JP, SIL Open Font License 1.1",
        "// (vendor/noto-serif-cjk.LICENSE). Made by web/glyphs.py.",
        "",
        "export const GLYPHS = {",
        *lines,
        "};",
        "",
    ]
    target = Path(__file__).parents[1] / "master" / "live" / "static" / "glyphs.js"
    target.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
