"""Plain words for typer's messages: errors of the command line, and the shapes of arguments in the help."""

from __future__ import annotations

import re
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from master.words import fault

_BRACKETS: Final = re.compile(r"\{([^{}]+)\}(\.\.\.)?|\[(\[.+\][^\[\]]*)\](\.\.\.)?")
_TYPE: Final = re.compile(r" <[^<>]+>$")
_NO_BREAK: Final = "\xa0"
_EXAMPLES: Final = re.compile(r"^  Examples?:\n(?:\n|    .*\n)+", re.MULTILINE)
_BETWEEN: Final = re.compile(r"\b(-?[\d.]+)<=x<=(-?[\d.]+)")
_FROM: Final = re.compile(r"\bx>=(-?[\d.]+)")


class _PlainHelp:
    """A help that begins with its examples, and shows arguments by their names alone, and ranges in words."""

    def get_help(self, ctx: Any) -> str:
        """The help, ready to print."""
        usage, break_, rest = str(super().get_help(ctx)).partition("\n")  # type: ignore[misc]
        if examples := _EXAMPLES.search(rest):
            rest = f"\n{examples[0].strip(chr(10))}\n{rest[: examples.start()]}{rest[examples.end() :]}"
        return (plain_usage(usage) + break_ + rest).replace(_NO_BREAK, " ")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options and arguments. The formatter must measure the final words, or its lines are too long."""
        write = formatter.write_dl
        formatter.write_dl = lambda rows: write([(_TYPE.sub("", term), plain_ranges(text)) for term, text in rows])
        super().format_options(ctx, formatter)  # type: ignore[misc]
        formatter.write_dl = write


class PlainCommand(_PlainHelp, TyperCommand):
    """A command with such a help."""


class PlainGroup(_PlainHelp, TyperGroup):
    """A group of commands with such a help, and with whole lines about its commands."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line, or more, for each command."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(word, self.commands[word].get_short_help_str(200)) for word in self.list_commands(ctx)]
            )


def plain_usage(text: str) -> str:
    """A usage line with arguments by their names alone."""
    return _BRACKETS.sub(lambda found: found[1] or found[3], text)


def plain_ranges(text: str) -> str:
    """A help text with ranges in words, each of which stays on one line: ``1 or more`` for ``x>=1``."""
    return _FROM.sub(rf"\1{_NO_BREAK}or{_NO_BREAK}more", _BETWEEN.sub(rf"\1{_NO_BREAK}to{_NO_BREAK}\2", text))


def complaint(error: Exception) -> str:
    """The fault of a command line in words: ``--nodes: 'x' is not a whole number``."""
    what = _name(getattr(error, "param", None))
    cause = error.__cause__
    help_ = _help_of(error)
    if (problems := getattr(cause, "errors", None)) is not None:  # pydantic's ValidationError, which imports slowly
        return "\n".join(f"{what}: {fault(problem)}" for problem in problems())
    if what and type(error).__name__ == "MissingParameter":
        return f"{what} is missing{help_}"
    if what:
        return f"{what}: {getattr(error, 'message', error)}".rstrip(".")
    option = getattr(error, "option_name", None)
    if option and type(error).__name__ == "NoSuchOption":
        near = ", ".join(getattr(error, "possibilities", None) or ())
        return f"{option}: no such option" + (f"; there is {near}" if near else help_)
    message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    if found := re.fullmatch(r"No such command ('.*?')\.(?: Did you mean (.*)\?)?", message):
        return f"{found[1]}: no such command" + (f"; there is {found[2]}" if found[2] else help_)
    if found := re.fullmatch(r"Option '(.*)' requires an argument\.?", message):
        return f"{found[1]}: a value is missing{help_}"
    if found := re.fullmatch(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", message):
        return f"{found[1]}: not expected{help_}"
    return message.rstrip(".")


def _name(parameter: Any) -> str:
    """An option as it is typed; an argument as the help names it."""
    return "" if parameter is None else str(parameter.get_error_hint()).replace("'", "")


def _help_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f"; {context.command_path} --help explains"
