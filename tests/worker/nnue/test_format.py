"""Network files: what is written is read again; anything broken is refused with words that help."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.random_networks import random_network
from worker.nnue.features import FEATURE_SETS, HALF_KA_HM2, HALF_KP, HALF_KP_VM, K_P
from worker.nnue.format import (
    Architecture,
    NetworkFile,
    NetworkFileError,
    parse_architecture,
    parse_network,
    read_network,
    serialise_network,
    write_network,
)

# As the field writes them: YaneuraOu's K-P and HalfKP, the newer name of a sparse first layer, a trainer's fv_scale.
K_P_256 = (
    "Features=K+P[1710->256x2],Network=AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-32]"
    "(ClippedReLU[32](AffineTransform[32<-512](InputSlice[512(0:512)])))))"
)
HALF_KP_512 = (
    "Features=HalfKP(Friend)[125388->512x2],Network=AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-16]"
    "(ClippedReLU[16](AffineTransformSparseInput[16<-1024](InputSlice[1024(0:1024)])))))"
)
HALF_KP_1024 = (
    "Features=HalfKP(Friend)[125388->1024x2],Network=AffineTransform[1<-64](ClippedReLU[64](AffineTransform[64<-8]"
    "(ClippedReLU[8](AffineTransform[8<-2048](InputSlice[2048(0:2048)]))))),fv_scale=24"
)

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


@pytest.mark.parametrize(
    ("text", "architecture"),
    [
        (K_P_256, Architecture(K_P, 256, 32, 32)),
        (HALF_KP_512, Architecture(HALF_KP, 512, 16, 32)),
        (HALF_KP_1024, Architecture(HALF_KP, 1024, 8, 64, fv_scale=24)),
        (K_P_256.replace("K+P[1710", "HalfKP_vm(Friend)[69660"), Architecture(HALF_KP_VM, 256, 32, 32)),
        (K_P_256.replace("K+P[1710", "HalfKA_hm2(Friend)[73305"), Architecture(HALF_KA_HM2, 256, 32, 32)),
    ],
)
def test_architecture_strings(text: str, architecture: Architecture) -> None:
    assert parse_architecture(text) == architecture
    assert str(architecture) == text.replace("SparseInput", "")


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
    }


def test_a_file_comes_back(tmp_path: Path, small: NetworkFile) -> None:
    path = tmp_path / "nn.bin"
    path.write_bytes(b"what stood there before")
    write_network(path, small)
    assert same(read_network(path), small)
    assert [entry.name for entry in tmp_path.iterdir()] == ["nn.bin"]


def test_rows_are_padded_to_32_inputs(small: NetworkFile, data: bytes) -> None:
    transformer = 4 + 2 * 128 * (1 + 1710)
    layers = 4 + 8 * (4 + 256) + 16 * (4 + 32) + (4 + 32)
    assert len(data) == STRING_AT + len(str(SMALL)) + transformer + layers


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, small: NetworkFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "nn.bin"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_network(path, small)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["nn.bin"]


def test_shapes_are_checked(small: NetworkFile) -> None:
    with pytest.raises(ValueError, match=r"transformer_bias: int16 \(127,\), expected int16 \(128,\)"):
        NetworkFile(SMALL, small.transformer_bias[1:], small.transformer_weight, small.biases, small.weights)
    with pytest.raises(ValueError, match="biases: 2 arrays, expected 3"):
        NetworkFile(SMALL, small.transformer_bias, small.transformer_weight, small.biases[1:], small.weights)


@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=50)
def test_truncated_anywhere(data: bytes, share: float) -> None:
    length = int(share * len(data))
    with pytest.raises(NetworkFileError, match=rf"^cut\.bin: byte {length}: file ends inside"):
        parse_network(data[:length], file="cut.bin")


@given(length=st.integers(0, 200))
@settings(max_examples=50)
def test_truncated_in_the_header(data: bytes, length: int) -> None:
    with pytest.raises(NetworkFileError, match=r"^cut\.bin: byte \d+: file ends inside"):
        parse_network(data[:length], file="cut.bin")


@given(extra=st.binary(min_size=1, max_size=100))
@settings(max_examples=20)
def test_trailing_bytes(data: bytes, extra: bytes) -> None:
    with pytest.raises(NetworkFileError, match=rf"byte {len(data)}: {len(extra)} more bytes, expected the end"):
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
    # The hash is not compared, and nothing but the same words can be as long.
    assert architecture == SMALL
    assert 4 <= at < 8 or value == data[at]


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
    with pytest.raises(NetworkFileError, match=r"byte 8: architecture string of 4294967295 bytes, expected 1\.\.4096"):
        parse_network(data[:8] + b"\xff" * 4 + data[12:])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("K+P", "HalfKA", r"byte 21: unknown features 'HalfKA', expected one of K\+P, HalfKP\(Friend\), HalfKP_vm"),
        ("K+P", "HalfKP(Friend)", "byte 36: the number of features of HalfKP.* is 1710, expected 125388"),
        ("Features=", "ModelType=SFNN;Features=", "byte 12: architecture string: expected 'Features=', found 'Model"),
        ("256x2", "255x2", "the width of the feature transformer is 255, expected 128..4096 in steps of 128"),
        ("256x2", "128x2", "the first hidden layer's input is 512, expected 256"),
        ("(0:512)", "(0:256)", "the first hidden layer's input is 256, expected 512"),
        ("[1<-32]", "[2<-32]", "the number of outputs is 2, expected 1"),
        ("ClippedReLU[32]", "SqrClippedReLU[32]", "expected 'ClippedReLU.hidden2.*found 'SqrClipped"),
        ("[1<-32](ClippedReLU[32]", "[1<-0](ClippedReLU[0]", "second hidden layer's width is 0, expected 1..1024"),
        ("[32<-32]", "[16<-32]", "the second hidden layer's width is 16, expected 32"),
        ("])))))", "]))))", "expected five closing brackets"),
        ("])))))", "]))))),fv_scale=0", "fv_scale is 0, expected 1..128"),
        ("])))))", "]))))){LayerStack=9}", "expected the end, or ',fv_scale=N', found '{LayerStack=9}'"),
        ("P[", "\xd0[", "byte 23: the architecture string is not ASCII"),
    ],
)
def test_unknown_architectures(old: str, new: str, message: str) -> None:
    text = K_P_256.replace(old, new, 1).encode("latin-1")
    with pytest.raises(NetworkFileError, match=message):
        parse_network(struct.pack("<III", 0x7AF32F16, 0, len(text)) + text)
