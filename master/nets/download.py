"""Download of a file over HTTP, which goes on where an earlier try was cut off."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import http.client
import io
import os
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn, Protocol, cast
from urllib.parse import quote, urlsplit

MAX_BYTES: Final = 4 << 30
"""A download larger than this is refused."""
_CHUNK: Final = 1 << 17
_TIMEOUT_S: Final = 30
_TRIES: Final = 4
"""Tries in a row that bring nothing new before a download gives up."""
_AGAIN: Final = (408, 425, 429, 500, 502, 503, 504)
"""States of a server that pass."""

Progress = Callable[[int, int | None], None]
"""Told of the bytes that are there, and of all that there will be, where the server says so."""


class DownloadError(Exception):
    """A file that cannot be downloaded."""


class _CutError(Exception):
    """The connection broke; what came of it stays."""


class _Answer(Protocol):
    status: int
    headers: http.client.HTTPMessage

    def read(self, size: int, /) -> bytes: ...
    def geturl(self) -> str: ...
    def close(self) -> None: ...


@contextlib.contextmanager
def held(part: Path) -> Iterator[None]:
    """Keep other processes from downloading to ``part``.

    Raises:
        DownloadError: another one does.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.with_suffix(".lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DownloadError(f"another gougi downloads it now (to {part})") from None
        yield


def forget(part: Path) -> None:
    """Delete what `download` left, but for the lock."""
    part.unlink(missing_ok=True)
    part.with_suffix(".tag").unlink(missing_ok=True)


def download(url: str, part: Path, progress: Progress, *, size: int | None = None) -> None:
    """Download a file to ``part``, which may hold the beginning of it already. Call it within `held`.

    If the server says by a tag or a date that the file is still the same, the download goes on where it was; else it
    begins anew. If the connection breaks, it tries again as long as each few tries bring something new.

    Args:
        size: bytes that it must have; None: any number up to `MAX_BYTES`.

    Raises:
        DownloadError: it cannot be had, or has another size; the beginning stays in ``part`` if it is of use.
        OSError: the disk does not take it.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise DownloadError(f"{url}: expected an address that begins with http:// or https://")
    transfer = _Transfer(url, part, progress, size)
    furthest, idle = transfer.at, 0
    while True:
        try:
            return transfer.run()
        except _CutError as error:
            idle = 0 if transfer.at > furthest else idle + 1
            furthest = max(furthest, transfer.at)
            if not transfer.came or idle == _TRIES:
                goes_on = f"; the same command goes on after {transfer.at:,} bytes" if transfer.at else ""
                raise DownloadError(f"{url}: {error}{goes_on}") from error
        time.sleep(2.0**idle)


class _Transfer:
    """A download: its file, how far it is, and one request at a time."""

    def __init__(self, url: str, part: Path, progress: Progress, size: int | None) -> None:
        self._url = url
        self._part = part
        self._tag = part.with_suffix(".tag")
        self._progress = progress
        self._size = size
        self.at = part.stat().st_size if part.exists() else 0
        self.came = False
        """Whether this run of the program has received anything."""

    def run(self) -> None:
        """Ask once, and write what comes. Raises `_CutError` if it is not all."""
        answer = self._ask()
        if answer is None:
            return
        with contextlib.closing(answer):
            total = self._begin(answer)
            with self._part.open("r+b", buffering=0) as file:
                file.seek(self.at)
                while chunk := self._read(answer):
                    self.came = True
                    if self.at + len(chunk) > (self._size or MAX_BYTES):
                        self._refuse(f"longer than {self._size or MAX_BYTES:,} bytes")
                    self._write(file, chunk)
                    self._progress(self.at, total)
        wanted = self._size if total is None else total
        if wanted is not None and self.at < wanted:
            raise _CutError(f"the connection broke after {self.at:,} of {wanted:,} bytes")

    def _write(self, file: io.FileIO, chunk: bytes) -> None:
        """Write without a buffer: what is not on the disk must not count as there."""
        rest = memoryview(chunk)
        try:
            while rest:
                written = file.write(rest)
                self.at += written
                rest = rest[written:]
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._part)) from error

    def _ask(self) -> _Answer | None:
        """Send the request. None: the file is whole already."""
        headers = {"User-Agent": "gougi", "Accept-Encoding": "identity"}
        tag = self._tag.read_text(encoding="utf-8") if self.at and self._tag.exists() else ""
        if tag:
            headers |= {"Range": f"bytes={self.at}-", "If-Range": tag}
        # An address from a browser's line may have spaces or kanji.
        address = quote(self._url, safe="%/:=&?~#+!$,;'@()*[]")
        try:
            answer = _opener().open(urllib.request.Request(address, headers=headers), timeout=_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and tag:  # nothing comes after what is here
                if error.headers.get("Content-Range") == f"bytes */{self.at}":
                    return None
                self._tag.unlink()
                return self._ask()
            if error.code in _AGAIN:
                raise _CutError(f"the server answers {error.code} {error.reason}") from error
            raise DownloadError(f"{self._url}: the server answers {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _CutError(_words(error)) from error
        if self._url.startswith("https:") and not answer.geturl().startswith("https:"):
            raise DownloadError(f"{self._url}: it leads to an address without encryption, {answer.geturl()}")
        return cast(_Answer, answer)

    def _begin(self, answer: _Answer) -> int | None:
        """Make ready for what an answer brings; the whole size of the file, where the answer says it."""
        length = answer.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        if answer.status == 206:
            place = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
            if not self.at or place is None or int(place[1]) != self.at:
                self._refuse("the server sent another part than it was asked for")
            if place[2] != "*":
                total = int(place[2])
            elif total is not None:
                total += self.at
        else:
            self._start_anew(answer.headers)
        if total is not None and total > MAX_BYTES:
            self._refuse(f"it has {total:,} bytes, more than {MAX_BYTES:,}")
        if total is not None and self._size not in (None, total):
            self._refuse(f"it has {total:,} bytes, expected {self._size:,}")
        if total is not None and total - self.at > shutil.disk_usage(self._part.parent).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._part))
        return total

    def _refuse(self, why: str) -> NoReturn:
        """Raise an error; the beginning is of no use."""
        forget(self._part)
        raise DownloadError(f"{self._url}: {why}")

    def _start_anew(self, headers: http.client.HTTPMessage) -> None:
        """Empty the file, and keep by what the server knows this version of it again, if it can send parts of one."""
        self._tag.unlink(missing_ok=True)  # first: it must never stand beside another version
        self._part.write_bytes(b"")
        self.at = 0
        tag = headers.get("ETag", "")
        tag = tag if tag.startswith('"') else headers.get("Last-Modified", "")
        if tag and headers.get("Accept-Ranges") != "none":
            self._tag.write_text(tag, encoding="utf-8")

    def _read(self, answer: _Answer) -> bytes:
        try:
            return answer.read(_CHUNK)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _CutError(_words(error)) from error


def _opener() -> urllib.request.OpenerDirector:
    """Opens http and https, through the proxy that the environment names, and no file:// or ftp:// that an answer leads
    to."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler, urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor, urllib.request.UnknownHandler,
    ):  # fmt: skip
        opener.add_handler(handler())
    return opener


def _words(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return f"no answer within {_TIMEOUT_S} s"
    words = reason.strerror if isinstance(reason, OSError) else None
    return words or str(reason) or type(reason).__name__
