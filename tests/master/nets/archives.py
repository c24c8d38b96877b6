"""Archives for the tests: valid ones, and hostile ones."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from worker.nnue.network import default_file

NET = default_file().read_bytes()
"""A network that this version of Gougi reads."""
STRANGE = NET[:12] + b"Features=Nobody(Knows)[1->2x2]".ljust(len(NET) - 12, b"\x07")
"""The first bytes of a network, then an unknown architecture."""


def zipped(path: Path, files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def bzip2_zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    return zipped(path, files, zipfile.ZIP_BZIP2)


def seven_zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    try:
        import libarchive
    except (ImportError, OSError, AttributeError, TypeError):
        pytest.skip("libarchive is not installed")
    with libarchive.file_writer(str(path), "7zip") as archive:
        for name, content in files.items():
            archive.add_file_from_memory(name, len(content), content)
    return path
