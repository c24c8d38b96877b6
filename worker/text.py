"""Words for the user's terminal: in Japanese if the locale asks for it, in ASCII if the terminal supports no more.

The code contains the English text; each package has its Japanese in a table ``ja.toml``::

    say = Catalogue("master").text
    say("connecting to Ray at {address}", address="10.0.0.1:6379")

A test checks that every such message has a Japanese text with the same fields.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final

_LOCALE: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first variable that is set decides, as in every POSIX program."""
_PACKAGES: Final = Path(__file__).parents[1]
_KANJI: Final = "☗☖手"
ERRORS: Final = "gougi-ascii"
"""Name of the error handler that `register` makes."""

_WORDS: Final = (
    *zip("１２３４５６７８９一二三四五六七八九", "123456789123456789", strict=True),
    *zip("歩香桂銀金角飛玉王", "PLNSGBRKK", strict=True),
    *zip("と杏圭全馬龍竜", ("+P", "+L", "+N", "+S", "+B", "+R", "+R"), strict=True),
    *zip("☗☖▲△", "+-+-", strict=True),
    *zip("同打成\u3000", ("x", "*", "+", ""), strict=True),
    *zip("→←◀▶…—–·×±√", ("->", "<-", "<", ">", "...", "-", "-", ".", "x", "+-", "sqrt"), strict=True),
    *zip("≤≥", ("<=", ">="), strict=True),
    *zip("“”‘’━─│", ('"', '"', "'", "'", "-", "-", "|"), strict=True),
)
"""In ASCII a move is square and piece: ``☗７六歩`` is ``+76P``, ``☖同銀成`` is ``-xS+`` (with the signs of CSA)."""
_TABLE: Final = str.maketrans(dict(_WORDS))


def is_japanese(environment: Mapping[str, str]) -> bool:
    """Whether the locale selects Japanese."""
    return next((environment[name] for name in _LOCALE if environment.get(name)), "").startswith("ja")


def shows_kanji(encoding: str | None) -> bool:
    """Whether a terminal with this encoding has kanji and the signs of the two sides."""
    try:
        _KANJI.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def in_ascii(text: str) -> str:
    """The text with the signs and kanji of shogi notation replaced by ASCII; other characters stay."""
    return text.replace("不成", "=").replace("入玉宣言", "declaration").translate(_TABLE)


def fitted(text: str, encoding: str | None) -> str:
    """The text as a terminal of this encoding can show it."""
    return text if shows_kanji(encoding) else in_ascii(text)


def register() -> None:
    """Make `ERRORS`, a codec error handler that replaces a character that the terminal lacks by ASCII."""

    def replace(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        text = in_ascii(error.object[error.start : error.end])
        return "".join(sign if sign.isascii() else "?" for sign in text), error.end

    codecs.register_error(ERRORS, replace)


class Catalogue:
    """A package's messages.

    Args:
        package: the package with the table ``ja.toml``: message -> Japanese.
        beside: lower packages whose errors it also translates.
    """

    def __init__(self, package: str, *beside: str) -> None:
        self._package = package
        self._packages = (package, *beside)

    def text(self, message: str, **fields: Any) -> str:
        """The message in the user's language, with ``fields`` in it.

        Args:
            message: English, with the names of fields in braces.
        """
        if is_japanese(os.environ) and shows_kanji(sys.stdout.encoding):
            message = japanese(self._package).get(message, message)
        return message.format_map(fields)

    def error(self, line: str, encoding: str | None = "utf-8") -> str:
        """An error message, already complete with its values, in the user's language.

        It is recognized by its form: a name in braces in the table matches any words. A message that does not match as
        a whole may match after a colon: ``--file: x.txt: no such file``.

        Args:
            encoding: the encoding of the output.
        """
        if not is_japanese(os.environ) or not shows_kanji(encoding):
            return line
        return _in_japanese(line, self._packages)


@cache
def japanese(package: str, section: str = "messages") -> Mapping[str, str]:
    """A section of a package's table; empty: it has none."""
    import tomllib  # not needed for English

    content = tomllib.loads((_PACKAGES / package / "ja.toml").read_text(encoding="utf-8"))
    return {str(message): str(words) for message, words in content.get(section, {}).items()}


@cache
def _forms(packages: tuple[str, ...]) -> Sequence[tuple[re.Pattern[str], str]]:
    """The errors' forms and their Japanese, those with the most fixed words first."""
    table = {form: words for package in packages for form, words in japanese(package, "errors").items()}
    pieces = {form: list(Formatter().parse(form)) for form in table}

    def own(form: str) -> int:
        return sum(len(text) for text, *_ in pieces[form])

    def pattern(form: str) -> re.Pattern[str]:
        parts = (re.escape(text) + (f"(?P<{name}>.+?)" if name else "") for text, name, *_ in pieces[form])
        return re.compile("".join(parts))

    return [(pattern(form), table[form]) for form in sorted(table, key=own, reverse=True)]


def _in_japanese(line: str, packages: tuple[str, ...]) -> str:
    for form, words in _forms(packages):
        if found := form.fullmatch(line):
            return words.format_map({name: _in_japanese(text, packages) for name, text in found.groupdict().items()})
    head, colon, rest = line.partition(": ")
    return head + colon + _in_japanese(rest, packages) if colon else line
