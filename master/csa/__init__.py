"""The CSA server protocol: what is said (pure state machines), and who carries it (asyncio drivers).

Pure: `position`, `summary`, `protocol` (a client's side), `server_game` and `server_room` (the practice server's
side). Drivers: `lines` (line framing on a socket), `client`, `server`.

Specification: CSA server protocol 1.2.1 (Computer Shogi Association), and what the tournament server really does, as
the recorded sessions in ``tests/fixtures/csa`` show.
"""
