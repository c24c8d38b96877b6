"""Messages: they arrive as they were sent, and everything else is rejected."""

from __future__ import annotations

import contextlib
import enum
import typing

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, structs

from cluster.network.messages import (
    MAX_BYTES,
    Done,
    Heartbeat,
    Hello,
    Job,
    Leave,
    Message,
    MessageError,
    NewGame,
    Report,
    Stop,
    decode,
    encode,
)
from worker.engine import Bound

REPORT = Report("node-1", 3, 17, 12, 20, -45, Bound.EXACT, 12345, 678, 90, ("7g7f", "3c3d"))
EXAMPLES: list[Message] = [
    Job(3, 17, "startpos-sfen", ("7g7f", "P*5e"), searchmoves=("2g2f",), nodes=1000),
    Job(3, 18, "x", ignoremoves=("2g2f", "8h2b+"), multipv=7, movetime_ms=300, depth=9),
    Job(3, 19, "x", max_moves=320, draw_black=-100, draw_white=100),
    Stop(17),
    NewGame(),
    Hello("node-1", "a1b2", "host", 4711, "gougi"),
    Heartbeat("node-1", "a1b2", 17, False),
    REPORT,
    Done("node-1", 3, 17, 99, 5),
    Done("node-1", 3, 17, 0, 0, "no such position"),
    Leave("node-1", "SIGTERM"),
]


def values(hint: object) -> st.SearchStrategy[object]:
    """Every value that a field of this type may have."""
    limits = Meta()
    if typing.get_origin(hint) is typing.Annotated:
        hint, limits = typing.get_args(hint)
    shortest = limits.min_length or 0
    if typing.get_origin(hint) is tuple:
        return st.lists(values(typing.get_args(hint)[0]), min_size=shortest, max_size=5).map(tuple)
    if hint is int:
        return st.integers(limits.ge, limits.le)
    if hint is str:
        longest = max(shortest, min(limits.max_length or 20, 20))
        return st.text(st.characters(codec="utf-8"), min_size=shortest, max_size=longest)
    if hint is bool:
        return st.booleans()
    if isinstance(hint, enum.EnumMeta):
        return st.sampled_from(hint)
    return st.none() | values(typing.get_args(hint)[0])


def messages() -> st.SearchStrategy[Message]:
    return st.one_of(
        [
            st.builds(
                kind,
                **{name: values(hint) for name, hint in typing.get_type_hints(kind, include_extras=True).items()},
            )
            for kind in typing.get_args(Message)
        ]
    )


@given(messages())
def test_round_trip(message: Message) -> None:
    assert decode(encode(message)) == message


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    with contextlib.suppress(MessageError):
        decode(data)


@given(st.sampled_from(EXAMPLES).map(encode), st.data())
def test_damaged_bytes_are_a_message_or_refused(good: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(good) - 1))
    cut = data.draw(st.booleans())
    bad = good[:place] if cut else good[:place] + bytes([data.draw(st.integers(0, 255))]) + good[place + 1 :]
    with contextlib.suppress(MessageError):
        decode(bad)


@given(st.recursive(st.none() | st.booleans() | st.integers(-5, 2**70 - 2**69) | st.text(), st.lists, max_leaves=5))
def test_any_value_in_any_field_is_checked(value: object) -> None:
    for example in EXAMPLES:
        for entry in structs.fields(example):
            raw = msgpack.unpackb(encode(example))
            raw[entry.name] = value
            try:
                data = msgpack.packb(raw)
            except OverflowError:
                return
            with contextlib.suppress(MessageError):
                again = decode(data)
                assert decode(encode(again)) == again


DEEP = b"\x91" * 60_000 + b"\x01"
"""A list in a list in a list…"""


def changed(**fields: object) -> bytes:
    raw = msgpack.unpackb(encode(REPORT))
    for name, value in fields.items():
        if value is ...:
            del raw[name]
        else:
            raw[name] = value
    return msgpack.packb(raw)


def job(**fields: object) -> bytes:
    """A job with these fields."""
    return msgpack.packb({"kind": "job", "search_id": 1, "job_id": 1, "sfen": "x", **fields})


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "no msgpack"),
        (b"\xc1", "no msgpack"),
        (msgpack.packb([1, 2]), "message: Expected `object`, got `array`"),
        (msgpack.packb({}), "message: Object missing required field `kind`"),
        (changed(kind="rport"), "message.kind: Invalid value 'rport'"),
        (changed(kind=["report"]), "message.kind: Expected `str`, got `array`"),
        (changed(kind="\x1b[1m" + "x" * 1000), r"message.kind: Invalid value '\\x1b\[1mx{1,200}$"),
        (changed(pv=...), "report: Object missing required field `pv`"),
        (changed(colour="red"), "report: Object contains unknown field `colour`"),
        (changed(depth="12"), "report.depth: Expected `int`, got `str`"),
        (changed(depth=True), "report.depth: Expected `int`, got `bool`"),
        (changed(depth=-1), "report.depth: Expected `int` >= 0"),
        (changed(score=32001), "report.score: Expected `int` <= 32000"),
        (changed(score=1.5), "report.score: Expected `int`, got `float`"),
        (changed(bound=4), "report.bound: Invalid enum value 4"),
        (changed(pv=[]), "report.pv: Expected `array` of length >= 1"),
        (changed(pv=["7g7f", 5]), r"report.pv\[1\]: Expected `str`, got `int`"),
        (changed(pv=["7g7f" * 9]), r"report.pv\[0\]: Expected `str` of length <= 8"),
        (changed(pv="7g7f"), "report.pv: Expected `array`, got `str`"),
        (job(max_moves=-1), "job.max_moves: Expected `int` >= 0"),
        (job(draw_black=31000), "job.draw_black: Expected `int` <= "),
        (job(draw_white="1"), "job.draw_white: Expected `int`, got `str`"),
        (changed(node_id=""), "report.node_id: Expected `str` of length >= 1"),
        (b"\x00" * (MAX_BYTES + 1), "bytes, at most"),
        (b"\x82\xa4kind\xa6report\xa1x" + DEEP, "unknown field `x`|recursion"),
        (b"\x82\xa1x" + DEEP + b"\xa4kind\xa6report", "recursion"),
        (b"\x82\xa4kind\xa6report\xa2pv" + DEEP, r"pv\[0\]: Expected `str`"),
        (b"\x82\xa4kind\xa6report\xa7node_id\xa2\xff\xff", "no msgpack"),
    ],
)
def test_refusals_name_the_fault_and_the_place(data: bytes, word: str) -> None:
    with pytest.raises(MessageError, match=word):
        decode(data)


def test_a_message_that_is_too_large_does_not_leave() -> None:
    with pytest.raises(MessageError, match=r"job: .* bytes"):
        encode(Job(1, 1, "x", ("7g7f+",) * 20000))


def test_a_very_long_game_fits() -> None:
    encode(Job(1, 1, "x", ("8h2b+",) * 4000, ignoremoves=("P*5e",) * 593))
