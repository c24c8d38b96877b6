"""The CSA server protocol: its content (pure state machines), and its transport (asyncio drivers).

Pure: `position`, `summary`, `protocol` (a client's side); `master.practice` has the server's. Drivers: `lines` (line
framing on a socket), `client`.

Specification: CSA server protocol 1.2.1 (Computer Shogi Association), and the tournament server's real behaviour, as
shown by the recorded sessions in ``tests/fixtures/csa``.
"""

from typing import Final

BLACK: Final = 0
WHITE: Final = 1
SIGNS: Final = "+-"
"""A colour's sign in CSA text, by colour."""
