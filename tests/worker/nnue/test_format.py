"""Network files: a written file is read again; a broken one is refused with a helpful message."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.random_networks import random_attack_network, random_network
from worker.nnue.architecture import Architecture, NetworkFileError
from worker.nnue.features import FEATURE_SETS, HALF_KP, K_P
from worker.nnue.format import NetworkFile, parse_network, read_network, serialise_network

SMALL = Architecture(K_P, width=128, hidden1=8, hidden2=16)
STRING_AT = 12


@pytest.fixture(scope="module")
def small() -> NetworkFile:
    return random_network(SMALL)


@pytest.fixture(scope="module")
def data(small: NetworkFile) -> bytes:
    return serialise_network(small)


def same(a: NetworkFile, b: NetworkFile) -> bool:
    pairs = [(a.transformer_bias, b.transformer_bias), (a.transformer_weight, b.transformer_weight)]
    pairs += [*zip(a.biases, b.biases, strict=True), *zip(a.weights, b.weights, strict=True)]
    return a.architecture == b.architecture and all(np.array_equal(x, y) for x, y in pairs)


def test_hashes_are_the_fields() -> None:
    """The words in files of YaneuraOu's family."""
    assert Architecture(K_P, 256, 32, 32).transformer_hash == 0x3F5715FF
    assert Architecture(HALF_KP, 256, 32, 32).transformer_hash == 0x5D69D7B8
    assert Architecture(HALF_KP, 256, 32, 32).network_hash == 0x63337156
    assert {name: features.hash for name, features in FEATURE_SETS.items() if "Half" in name} == {
        "HalfKP(Friend)": 0x5D69D5B9 ^ 1,
        "HalfKP_vm(Friend)": 0x0B6B1D9B ^ 1,
        "HalfRelativeKP(Friend)": 0xF9180919 ^ 1,
        "HalfKA1(Friend)": 0x5F134CB9 ^ 1,
        "HalfKA2(Friend)": 0x5F234CB9 ^ 1,
        "HalfKA_hm1(Friend)": 0x7F134CB9 ^ 1,
        "HalfKA_hm2(Friend)": 0x7F234CB9 ^ 1,
        "HalfKPE9(Friend)": 0x5D69D5B9 ^ 1,
    }
    assert FEATURE_SETS["K+A2"].hash == 0xD3CEE169 ^ 0x441B9736 ^ 1


def test_a_file_comes_back(tmp_path: Path, small: NetworkFile) -> None:
    path = tmp_path / "nn.bin"
    path.write_bytes(serialise_network(small))
    assert same(read_network(path), small)


def test_an_attack_network_comes_back(small: NetworkFile) -> None:
    attacks = random_attack_network()
    data = serialise_network(replace(small, attack_network=attacks))
    found = parse_network(data)
    assert same(found, small)
    assert found.attack_network is not None
    for mine, its in ((attacks.biases, found.attack_network.biases), (attacks.weights, found.attack_network.weights)):
        assert [one.tolist() for one in mine] == [one.tolist() for one in its]
    assert found.attack_network == attacks != random_attack_network(1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "0 bytes, expected 18852"), ("AAAA", "3 bytes, expected 18852"), ("1 2 3", "Only base64 data is allowed")],
)
def test_other_attack_networks_are_refused(text: str, problem: str, data: bytes) -> None:
    string = f"{SMALL},attacks={text}".encode()
    head = struct.pack("<III", *struct.unpack_from("<II", data), len(string))
    with pytest.raises(NetworkFileError, match=f"its attacks=… are no attack network: {problem}"):
        parse_network(head + string + data[STRING_AT + len(str(SMALL)) :])


def test_rows_are_padded_to_32_inputs(small: NetworkFile, data: bytes) -> None:
    transformer = 4 + 2 * 128 * (1 + 1710)
    layers = 4 + 8 * (4 + 256) + 16 * (4 + 32) + (4 + 32)
    assert len(data) == STRING_AT + len(str(SMALL)) + transformer + layers


def test_shapes_are_checked(small: NetworkFile) -> None:
    with pytest.raises(ValueError, match=r"transformer_bias: int16 \(127,\), expected int16 \(128,\)"):
        NetworkFile(SMALL, small.transformer_bias[1:], small.transformer_weight, small.biases, small.weights)
    with pytest.raises(ValueError, match="biases: 2 arrays, expected 3"):
        NetworkFile(SMALL, small.transformer_bias, small.transformer_weight, small.biases[1:], small.weights)


@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=50)
def test_truncated_anywhere(data: bytes, share: float) -> None:
    length = int(share * len(data))
    with pytest.raises(NetworkFileError, match=r"^cut\.bin: byte \d+: (file ends inside|no architecture)"):
        parse_network(data[:length], file="cut.bin")


@given(extra=st.binary(min_size=1, max_size=100))
@settings(max_examples=20)
def test_trailing_bytes(data: bytes, extra: bytes) -> None:
    told = f"kp_128x2-8-16, which the header describes, would have {len(data):,} bytes"
    with pytest.raises(NetworkFileError, match=rf"a file of {len(data) + len(extra):,} bytes with .*{told}"):
        parse_network(data + extra)


@given(at=st.integers(0, STRING_AT + len(str(SMALL)) - 1), value=st.integers(0, 255))
@settings(max_examples=150)
def test_a_damaged_header_gives_no_other_network(data: bytes, at: int, value: int) -> None:
    damaged = bytearray(data)
    damaged[at] = value
    try:
        architecture = parse_network(bytes(damaged)).architecture
    except NetworkFileError:
        return
    assert architecture == SMALL
    assert at >= 12 or 4 <= at < 8 or value == data[at]


def test_wrong_version(data: bytes) -> None:
    with pytest.raises(NetworkFileError, match=r"^nn\.bin: byte 0: version word 0x12345678, expected 0x7AF32F16"):
        parse_network(struct.pack("<I", 0x12345678) + data[4:], file="nn.bin")


def test_something_else_altogether(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text("#YANEURAOU-DB2016 1.00\nsfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1\n")
    with pytest.raises(NetworkFileError, match=r"book\.db: byte 0: version word .* no NNUE network file"):
        read_network(path)
    with pytest.raises(NetworkFileError, match="byte 0: file ends inside the header: expected 12 bytes"):
        parse_network(b"")


def test_impossible_length_of_the_string(data: bytes) -> None:
    with pytest.raises(NetworkFileError, match="byte 8: architecture string of 4294967295 bytes, expected at"):
        parse_network(data[:8] + b"\xff" * 4 + data[12:])
