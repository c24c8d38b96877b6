"""Text from others (servers, opponents, engines, nodes) cannot send commands to the terminal.

`master.ui.console.Console` sanitizes the content that rich shows, while rich's own terminal commands pass;
`master.commands.common` sanitizes errors, warnings and notices, `master.logs.log` the log's lines.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f"  # C0: escape, backspace, carriage return …; not tabs and line breaks
    "\x80-\x9f"  # C1: other forms of escape
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # which run text from right to left
    "\u2028\u2029"  # line breaks that other programs do not treat as such
    "]"
)


def clean(text: str) -> str:
    """Show control characters as escapes (``\\u001b``), except tabs and line breaks. JSON keeps its meaning."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
