"""The catalogue: each entry is complete and states its verification; names are found in any spelling."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from master.nets.catalogue import catalogue, find, near
from master.nets.install import NAME

ENTRIES = catalogue()


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry(name: str) -> None:
    entry = ENTRIES[name]
    assert NAME.fullmatch(name) and entry.title and entry.author and entry.architecture and entry.licence
    assert 2017 <= entry.year <= 2026
    assert entry.fv_scale is None or 1 <= entry.fv_scale <= 128
    for address in (entry.page, entry.url):
        assert address is None or urlsplit(address).scheme == "https"
    for hashed in (entry.sha256, entry.url_sha256):
        assert hashed is None or re.fullmatch("[0-9a-f]{64}", hashed)
    assert (entry.told_by > 0) == (entry.sha256 is not None or entry.url_sha256 is not None)
    assert entry.url is not None or (entry.url_bytes is None and entry.url_sha256 is None)


def test_the_nets_that_the_field_plays_with() -> None:
    scales = {name: ENTRIES[name].fv_scale for name in ("suisho5", "hao", "li", "aoba", "shinden3", "nagisa3")}
    assert scales == {"suisho5": 24, "hao": 20, "li": 20, "aoba": 40, "shinden3": 40, "nagisa3": 28}


@pytest.mark.parametrize("word", ["suisho11-beta", "Suisho11beta", "suisho 11 Beta", "SUISHO_11.BETA"])
def test_a_name_however_it_is_written(word: str) -> None:
    entry = find(word, ENTRIES)
    assert entry is not None and entry.name == "suisho11-beta"


def test_near_names() -> None:
    assert find("suishou5", ENTRIES) is None
    assert near("suishou5", ENTRIES)[0] == "suisho5"
    assert near("wcsc35", ENTRIES)[0] == "tanuki-wcsc35"
    assert near("zzzz", ENTRIES) == []
