"""A real HTTP server on this machine, which serves files well or badly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """The server's files and behaviour.

    Attributes:
        files: bytes by path.
        cuts: after so many bytes the next answers end without the rest, one each.
        ranges, tagged, length: whether it sends parts, a tag, the length.
        status: an error instead of each answer.
        place: a wrong Content-Range.
        leads: paths that redirect to another address.
        asked: the Range header of each request.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    tagged: bool = True
    length: bool = True
    chunked: bool = False
    status: int | None = None
    place: str | None = None
    leads: dict[str, str] = field(default_factory=dict)
    asked: list[str | None] = field(default_factory=list)
    address: str = ""

    def tag(self, path: str) -> str:
        return f'"{hash(self.files[path]):x}"'


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Run the server, on loopback alone."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append(self.headers["Range"])
            self.close_connection = True
            if self.path in site.leads:
                self.send_response(302)
                self.send_header("Location", site.leads[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if site.status or self.path not in site.files:
                self.send_error(site.status or 404)
                return
            whole, first = site.files[self.path], 0
            if site.ranges and self.headers["Range"] and self.headers["If-Range"] == site.tag(self.path):
                first = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
                if first >= len(whole):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(whole)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", site.place or f"bytes {first}-{len(whole) - 1}/{len(whole)}")
            else:
                self.send_response(200)
            if site.tagged:
                self.send_header("ETag", site.tag(self.path))
            if site.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            elif site.length:
                self.send_header("Content-Length", str(len(whole) - first))
            self.end_headers()
            rest = whole[first:]
            cut = site.cuts.pop(0) if site.cuts else len(rest)
            if not site.chunked:
                self.wfile.write(rest[:cut])
                return
            for start in range(0, min(cut, len(rest)), 4096):
                piece = rest[start : min(start + 4096, cut)]
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            if cut >= len(rest):
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
