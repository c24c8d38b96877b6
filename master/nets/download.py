"""Download of a file over HTTP that can resume an interrupted one."""

from __future__ import annotations

import contextlib
import errno
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

from worker.locks import lock

MAX_BYTES: Final = 4 << 30
"""A download larger than this is refused."""
_CHUNK: Final = 1 << 17
_TIMEOUT_S: Final = 30
_TRIES: Final = 4
"""Consecutive attempts without new bytes after which a download gives up."""
_AGAIN: Final = (408, 425, 429, 500, 502, 503, 504)
"""HTTP status codes of temporary errors."""

Progress = Callable[[int, int | None], None]
"""Callback with the bytes received so far and the total, if the server gives it."""


class DownloadError(Exception):
    """A file that cannot be downloaded."""


class _CutError(Exception):
    """The connection broke; the bytes received so far stay."""


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
        DownloadError: another process is doing so.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.with_suffix(".lock").open("wb") as file:
        try:
            lock(file, wait=False)
        except BlockingIOError:
            raise DownloadError(f"another gougi downloads it now (to {part})") from None
        yield


def forget(part: Path) -> None:
    """Delete the leftovers of `download`, except the lock."""
    part.unlink(missing_ok=True)
    part.with_suffix(".tag").unlink(missing_ok=True)


def download(url: str, part: Path, progress: Progress, *, size: int | None = None) -> None:
    """Download a file to ``part``, which may already hold the beginning of it. Call it within `held`.

    If a tag or a date of the server shows that the file is unchanged, the download resumes; otherwise it starts again.
    If the connection breaks, it tries again as long as one of every few attempts brings new bytes.

    Args:
        size: the required size in bytes; None: any size up to `MAX_BYTES`.

    Raises:
        DownloadError: it is not available, or has another size; the beginning stays in ``part`` if it is of use.
        OSError: writing to disk failed.
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
    """A download: its file, its progress, and one request at a time."""

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
        """Send one request, and write the bytes of the answer. Raises `_CutError` if the file is not complete."""
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
        """Write without a buffer: bytes that are not on disk must not count."""
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
        # A URL from a browser's address bar may have spaces or kanji.
        address = quote(self._url, safe="%/:=&?~#+!$,;'@()*[]")
        try:
            answer = _opener().open(urllib.request.Request(address, headers=headers), timeout=_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and tag:  # the file here is complete
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
        """Prepare for the content of an answer; returns the total size of the file, if the answer gives it."""
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
        """Raise an error; the bytes received so far are useless."""
        forget(self._part)
        raise DownloadError(f"{self._url}: {why}")

    def _start_anew(self, headers: http.client.HTTPMessage) -> None:
        """Empty the file, and store the tag by which the server recognizes this version, if it can send parts of
        one."""
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
    """Opens http and https URLs, through the proxy that the environment names, but no file:// or ftp:// URL that an
    answer redirects to."""
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
