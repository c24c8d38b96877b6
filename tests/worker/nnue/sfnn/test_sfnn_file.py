"""Files of the SFNN family: written and read, broken in every place, with wrong headers."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_sfnn
from worker.nnue.architecture import NetworkFileError
from worker.nnue.format import parse_network
from worker.nnue.network import PROGRESS_NAME, architecture_of, read_any
from worker.nnue.sfnn import leb128
from worker.nnue.sfnn.architecture import parse_sfnn_name
from worker.nnue.sfnn.file import SfnnFile, parse_progress, parse_sfnn, serialise_sfnn
from worker.nnue.sfnn.shape import NETWORK_HASH
from worker.nnue.shape import HEADER, PACKED, is_sfnn, read_head

SMALL = "SFNN_ka2_64_7_8_k3k3"
NAMES = (
    SMALL,
    "SFNN_kp_128_8_32",
    "SFNN_ka2_128_15_32_hand16_progress4",
    "SFNN_kp_192_7_8_c64_s64x2_k3k3",
)


def written(name: str) -> tuple[SfnnFile, bytes]:
    network = random_sfnn(parse_sfnn_name(name))
    return network, serialise_sfnn(network)


def with_header(data: bytes, text: str) -> bytes:
    """The same file with another architecture string."""
    version, hashed, length = HEADER.unpack_from(data)
    return HEADER.pack(version, hashed, len(text)) + text.encode() + data[HEADER.size + length :]


def read(data: bytes, **options: str) -> SfnnFile:
    return parse_sfnn(read_head(data, "net"), **options)


def same(a: SfnnFile, b: SfnnFile) -> bool:
    arrays = [
        (one.transformer_bias, one.transformer_weight, *one.biases, *one.weights)
        + (() if one.progress is None else (one.progress.weights, np.array(one.progress.bias)))
        for one in (a, b)
    ]
    return a.architecture == b.architecture and all(map(np.array_equal, *arrays))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_read_as_it_was_written(name: str) -> None:
    network, data = written(name)
    assert same(read(data), network)
    assert str(network.architecture) == name
    assert is_sfnn(read_head(data, "net"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SFNN-1536", "SFNN_halfkahm2_1536_15_32_k3k3"),
        ("YANEURAOU_ENGINE_SFNN_halfka2_1024-7-64-king3_by_king3", "SFNN_halfka2_1024_7_64_k3k3"),
        ("sfnn_ka2_3072_7_64_c1024_s256x8_k3k3", "SFNN_ka2_3072_7_64_c1024_s256x8_k3k3"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert str(parse_sfnn_name(text)) == name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SFNN_halfxx_1024_7_64", "unknown features 'halfxx'"),
        ("SFNN_halfka2_1000_7_64", "width 1000"),
        ("SFNN_halfka2_1024_9_64", "first hidden layer of 9"),
        ("SFNN_halfka2_1024_7_0", "second hidden layer of 0"),
        ("SFNN_halfka2_1024_7_64_c512_s64x4", "that make the width"),
        ("SFNN_halfka2_1024_7_64_c832_s64x3", "8 sums of the first layer do not make 3 groups"),
        ("SFNN_halfka2", "expected a name like"),
    ],
)
def test_names_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_sfnn_name(text)


@pytest.mark.parametrize(
    "header",
    [
        "ModelType=SFNNWithoutPsqt;Features=HalfKA_hm2(Friend)[73305->1536x2],Network=SFNN-1536{LayerStack=9}",
        "Features=HalfKP(Friend)[125388->256x2],Network=AffineTransform[1<-256](ClippedReLU[256])",
        "",
    ],
)
def test_a_header_that_is_not_true(header: str) -> None:
    network, data = written(SMALL)
    assert same(read(with_header(data, header)), network)


def test_the_fv_scale_of_a_header() -> None:
    data = written(SMALL)[1]
    text = read_head(data, "net").text + ",fv_scale=28"
    assert read(with_header(data, text)).architecture.fv_scale == 28


def test_two_shapes_fit_and_the_user_decides() -> None:
    network, data = written("SFNN_kp_64_7_8_k9k9z")
    lying = with_header(data, "SFNN")
    with pytest.raises(NetworkFileError, match=r"more than one shape fits.*SFNN_kp_64_7_8_k9k9, SFNN_kp_64_7_8_k9k9z"):
        read(lying)
    assert same(read(lying, architecture="sfnn_kp_64_7_8_k9k9z"), network)
    assert same(read(data), network)
    with pytest.raises(NetworkFileError, match="the file is no SFNN_kp_64_15_8_k9k9: header 'SFNN', 64 biases"):
        read(lying, architecture="sfnn_kp_64_15_8_k9k9")


def test_a_feature_transformer_that_is_not_packed() -> None:
    network, data = written(SMALL)
    start = read_head(data, "net").body + 4
    blocks = b"".join(array.tobytes() for array in (network.transformer_bias, network.transformer_weight))
    packed = sum(
        len(PACKED) + 4 + len(leb128.encode(array)) for array in (network.transformer_bias, network.transformer_weight)
    )
    plain = data[:start] + blocks + data[start + packed :]
    assert same(read(plain), network)
    with pytest.raises(NetworkFileError, match="no known SFNN shape fits"):
        read(plain[:-1])


@pytest.mark.parametrize("name", [SMALL, "SFNN_ka2_128_15_32_hand16_progress4"])
def test_a_file_that_is_cut_or_longer(name: str) -> None:
    data = written(name)[1]
    rng = random.Random(1)
    for size in (*range(0, 200, 7), *rng.sample(range(len(data)), 20), len(data) - 1):
        with pytest.raises(NetworkFileError, match=r"net: byte \d+: "):
            read(data[:size])
    with pytest.raises(NetworkFileError, match="no known SFNN shape fits"):
        read(data + b"\0")


def test_lengths_are_checked_before_memory_is_taken() -> None:
    data = bytearray(written(SMALL)[1])
    at = read_head(bytes(data), "net").body + 4 + len(PACKED)
    struct.pack_into("<I", data, at, 0xFFFFFFFF)
    with pytest.raises(NetworkFileError, match="expected 4294967295 bytes"):
        read(bytes(data))


def test_broken_numbers_and_hashes_are_found() -> None:
    data = written(SMALL)[1]
    at = read_head(data, "net").body + 4 + len(PACKED) + 4
    long = data[:at] + b"\x80\x80\x80" + data[at + 3 :]
    with pytest.raises(NetworkFileError, match=rf"byte {HEADER.size}: no known SFNN shape fits"):
        read(long)  # fewer numbers than a width needs
    last = data.rindex(NETWORK_HASH.to_bytes(4, "little"))
    with pytest.raises(NetworkFileError, match="no known SFNN shape fits"):
        read(data[:last] + b"\0\0\0\0" + data[last + 4 :])


@pytest.mark.parametrize("bad", [b"\x80\x80\x80\x00", b"\xff\xff\x07", b"\x80\x80\x7d"])
def test_numbers_of_more_than_16_bits(bad: bytes) -> None:
    with pytest.raises(ValueError, match="byte 1: a number of more than 16 bits"):
        leb128.decode(np.frombuffer(b"\x05" + bad, np.uint8), 2)


def test_every_number_is_packed_and_unpacked() -> None:
    numbers = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    packed = leb128.encode(numbers)
    assert len(packed) == 128 + 2 * (2 * 8192 - 128) + 3 * (65536 - 2 * 8192)
    assert np.array_equal(leb128.decode(np.frombuffer(packed, np.uint8), len(numbers)), numbers)


def test_nine_stacks_of_progress_beside_the_file(tmp_path: Path) -> None:
    """As in NAGISA: the header says k3k3."""
    network = random_sfnn(parse_sfnn_name("SFNN_kp_64_15_64_progress8kpabs"))
    assert network.progress is not None
    file = tmp_path / "nn.bin"
    file.write_bytes(serialise_sfnn(network))
    assert str(architecture_of(file)) == "SFNN_kp_64_15_64_k3k3"
    (tmp_path / PROGRESS_NAME).write_bytes((network.progress.weights / 65536).astype("<f8").tobytes())
    assert str(architecture_of(tmp_path)) == "SFNN_kp_64_15_64_progress8kpabs"
    found = read_any(tmp_path)
    assert isinstance(found, SfnnFile)
    assert same(found, network)
    assert str(architecture_of(file, architecture="SFNN_kp_64_15_64_k3k3")) == "SFNN_kp_64_15_64_k3k3"


def test_a_progress_that_is_none() -> None:
    with pytest.raises(NetworkFileError, match=r"progress\.bin: byte 5: 5 bytes, expected 1003104"):
        parse_progress(b"12345")
    with pytest.raises(NetworkFileError, match="byte 0: a weight that is no number"):
        parse_progress(struct.pack("<d", float("nan")) + bytes(1003096))


def test_the_trainers_reader_says_that_it_is_not_for_it() -> None:
    with pytest.raises(NetworkFileError, match="an SFNN network, which this command does not take"):
        parse_network(written(SMALL)[1])


def test_random_damage_never_does_more_than_an_error() -> None:
    data = written(SMALL)[1]
    rng = random.Random(int(os.environ.get("GOUGI_SEED", "1")))
    read_at_all = 0
    for _ in range(300):
        broken = bytearray(data)
        # The header and the blocks' beginnings are few bytes of many: hit them half of the time.
        for _ in range(rng.randint(1, 6)):
            broken[rng.randrange(300 if rng.random() < 0.5 else len(data))] = rng.randrange(256)
        try:
            read(bytes(broken[: len(data) - rng.choice((0, 0, 0, rng.randrange(len(data))))]))
            read_at_all += 1
        except NetworkFileError:
            pass
    assert read_at_all > 0
