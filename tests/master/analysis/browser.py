"""A headless Chromium, driven through chromedriver by the W3C WebDriver protocol: this little use needs no library."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SIDEWAYS = """
const wide = (part) => part.scrollWidth > part.clientWidth + 1;
const scrolls = (part) => ["auto", "scroll"].includes(getComputedStyle(part).overflowX);
const parts = [...document.querySelectorAll("main *, #app *")].filter((part) => scrolls(part) && wide(part));
return [document.documentElement.scrollWidth, parts.map((part) => part.className)];
"""
"""The page's width, and the elements that scroll sideways in it."""


ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1000",
)
_CLICKS = 50
_PATIENCE_S = 20.0
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def installed() -> bool:
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


class Browser:
    """A context manager.

    Args:
        profile: an empty folder for the browser's files.
        arguments: of the browser, besides its usual ones.
    """

    def __init__(self, profile: Path, *arguments: str) -> None:
        self._profile = profile
        self._arguments = (*ARGUMENTS, *arguments)

    def __enter__(self) -> Self:
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            assert self._driver.stdout is not None
            said = (re.search(r"started successfully on port (\d+)", line) for line in self._driver.stdout)
            port = next(found[1] for found in said if found)
            self._root = f"http://127.0.0.1:{port}"
            arguments = [*self._arguments, f"--user-data-dir={self._profile}"]
            options = {"args": arguments, "binary": shutil.which("chromium")}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._root += f"/session/{made['sessionId']}"
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._end()

    def _end(self) -> None:
        self._driver.terminate()
        try:
            self._driver.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:  # now and then it hangs although its browser has ended
            os.killpg(self._driver.pid, signal.SIGKILL)
            self._driver.wait()

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, page: Path | str) -> None:
        """A file, or an address."""
        self._call("POST", "/url", {"url": page.resolve().as_uri() if isinstance(page, Path) else page})

    def resize(self, width: int, height: int) -> None:
        """Set the width and height in CSS pixels, also narrower than a window can be."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._cdp("Emulation.setDeviceMetricsOverride", size)

    def emulate(self, scheme: str) -> None:
        """``light`` or ``dark``, as the system's setting."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._cdp("Emulation.setEmulatedMedia", {"features": features})

    def picture(self) -> bytes:
        """A picture of the page, as a small WebP."""
        made = self._cdp("Page.captureScreenshot", {"format": "webp", "quality": 55})
        return base64.b64decode(made["data"])

    def _cdp(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def click(self, css: str) -> None:
        """Click as a user does: scroll to the element and click the topmost one there; try again if it is redrawn
        meanwhile."""
        for left in reversed(range(_CLICKS)):
            try:
                found = self._call("POST", "/element", {"using": "css selector", "value": css})[_ELEMENT]
                self._call("POST", f"/element/{found}/click", {})
                return
            except urllib.error.HTTPError as error:
                if error.code != 404 or not left:
                    raise
                time.sleep(0.1)

    def press(self, key: str) -> None:
        keys = {"type": "key", "id": "k", "actions": [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]}
        self._call("POST", "/actions", {"actions": [keys]})

    def run(self, script: str) -> Any:
        """Run a function with this body and return its result."""
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def text(self, css: str) -> str:
        return str(self.run(f"return document.querySelector({json.dumps(css)}).textContent"))

    def complaints(self) -> list[str]:
        """The errors and warnings of the page's console."""
        time.sleep(0.1)  # the console's messages come by another way than the answers
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]
