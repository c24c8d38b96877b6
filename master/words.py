"""Plain words for faults of values: pydantic's errors in everyday language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_EXPECTED: Final = {
    "int_parsing": "{input} is not a whole number",
    "int_type": "{input} is not a whole number",
    "int_from_float": "{input} is not a whole number",
    "float_parsing": "{input} is not a number",
    "float_type": "{input} is not a number",
    "finite_number": "{input} is not a number",
    "bool_parsing": "{input} is neither true nor false",
    "bool_type": "{input} is neither true nor false",
    "string_type": "{input} is not a text",
    "string_too_short": "{input} is too short: {min_length} character or more",
    "greater_than": "{input} is too small: more than {gt}",
    "greater_than_equal": "{input} is too small: {ge} or more",
    "less_than_equal": "{input} is too large: {le} or less",
    "less_than": "{input} is too large: less than {lt}",
    "too_short": "too few: {min_length} or more",
    "too_long": "too many: {max_length} or less",
    "literal_error": "{input} is none of: {choices}",
    "tuple_type": "{input} is not a list",
    "list_type": "{input} is not a list",
    "model_type": "{input} is not a table",
    "dict_type": "{input} is not a table",
}
"""By pydantic's kinds of error."""


def fault(problem: Mapping[str, Any], secret: bool = False) -> str:
    """The fault of a value, and the expected form: ``'x' is not a whole number``.

    Args:
        problem: one of `pydantic.ValidationError.errors`.
        secret: the value must not be shown.
    """
    context = problem.get("ctx", {})
    shown = "the value" if secret else repr(problem["input"])
    choices = ", ".join(re.findall(r"'([^']*)'", str(context.get("expected", ""))))
    words = _EXPECTED.get(problem["type"])
    if words is not None:
        return words.format(**{**context, "input": shown, "choices": choices})
    message = str(problem["msg"]).removeprefix("Value error, ")
    return message if secret else f"{message}, not {shown}"
