"""The recorded clients meet the practice server: it must answer them as the real server did."""

from __future__ import annotations

import re

import pytest

from master.practice.server_game import StartPosition
from master.practice.server_room import CloseConnection, Effect, Room, RoomOptions, SendLine
from tests.master.csa.transcripts import NAMES, Said, load
from worker.shogi import STARTPOS

# A practice server does not need x1 (the extended mode); a session whose opponent used it has no partner here.
EXTENDED = ("44_x1_two_games",)
PAIRS = [name.removesuffix(".black") for name in NAMES if name.endswith(".black") and not name.startswith(EXTENDED)]
PAIRS = [f"{base}.black {base}.white" for base in PAIRS] + ["30_floodgate.alice 30_floodgate.bob"]


class Client:
    """One recorded client, and the practice server's lines for it."""

    def __init__(self, conn: int, name: str, offset_ms: float) -> None:
        self.conn = conn
        self.script = [Said(said.at_ms + offset_ms, said.who, said.text) for said in load(name)]
        self.heard: list[str] = []
        self.open = True

    def next(self) -> Said | None:
        """The client's next action, after it has received as many lines as when it was recorded."""
        waiting = len(self.heard)
        for index, said in enumerate(self.script):
            if said.who == "S":
                waiting -= 1
            elif said.who == "C" or said.text == "client closed socket":
                return said if waiting >= 0 and self.open else None
            if index == len(self.script) - 1:
                return None
        return None

    def done(self, said: Said) -> None:
        """``next`` was carried out: the lines before it are settled."""
        self.script.remove(said)

    def leaves(self) -> bool:
        """Whether only the client's departure is left of the recording."""
        return all(said.who == "!" for said in self.script[self._heard_until() :])

    def _heard_until(self) -> int:
        """The place in the script after the last received server line."""
        seen = 0
        for index, said in enumerate(self.script):
            seen += said.who == "S"
            if seen == len(self.heard):
                return index + 1
        return len(self.script)


def offer_at(name: str) -> float:
    return next((said.at_ms for said in load(name) if said.text == "BEGIN Game_Summary"), 0.0)


def options(name: str) -> RoomOptions:
    texts = [said.text for said in load(name)]
    limit = next(int(text.partition(":")[2]) for text in texts if text.startswith("Max_Moves:"))
    buoy = StartPosition(STARTPOS, ("+7776FU", "-3334FU", "+2726FU"))
    return RoomOptions(max_moves=limit or None, starts={"buoy_open-60-5F": buoy})


def replay(black: str, white: str) -> tuple[Client, Client]:
    epoch = 1_800_000_000_000.0
    room = Room(options(black))
    # Each recording counts from its own connection; the offer reached both at once.
    clients = (Client(0, black, epoch), Client(1, white, epoch + offer_at(black) - offer_at(white)))
    now = epoch

    def carry_out(effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendLine):
                clients[effect.conn].heard.append(effect.line)
            elif isinstance(effect, CloseConnection):
                clients[effect.conn].open = False

    for client in clients:
        carry_out(room.connect(client.conn, now))
    while True:
        ready = [(said.at_ms, client.conn, said) for client in clients if (said := client.next()) is not None]
        if not ready:
            deadline = room.deadline_ms
            if deadline is None or not any(client.open for client in clients):
                return clients
            now = max(now, deadline)
            carry_out(room.tick(now))
            continue
        at, conn, said = min(ready, key=lambda item: item[:2])
        now = max(now, at)
        client, other = clients[conn], clients[1 - conn]
        if said.who == "!" and client.leaves() and other.leaves():
            return clients  # both recorders hung up at the same moment
        client.done(said)
        if said.who == "C":
            carry_out(room.receive(conn, said.text, now))
        else:
            client.open = False
            carry_out(room.disconnect(conn, now))


def plain(lines: list[str]) -> list[str]:
    """Game ids begin with the server's event, and end with the date."""
    return [re.sub(r"\b(?:test|gougi)(\+\S*)\+[0-9]{14}\b", r"EVENT\1+DATE", line) for line in lines]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_practice_server_answers_as_the_real_one(pair: str) -> None:
    for name, client in zip(pair.split(), replay(*pair.split()), strict=True):
        expected = [said.text for said in load(name) if said.who == "S"]
        if name.startswith("30_"):  # the real server pairs floodgate games at fixed times, this one at once
            expected, client.heard = [line for line in expected if line], [line for line in client.heard if line]
        assert plain(client.heard) == plain(expected)
