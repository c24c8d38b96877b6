"""The live page of a command that plays: `master.live`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from master.config import Config
    from master.live.feed import Feed

PageOption = Annotated[
    str | None,
    typer.Option("--page", metavar="HOST:PORT|off", help="Address of the live page. Default: 127.0.0.1:4082."),
]


@contextlib.asynccontextmanager
async def live_page(
    settings: Config, command: str, ready: Callable[[str], None], warn: Callable[[str], None]
) -> AsyncIterator[Feed | None]:
    """The page for as long as the block runs; None where it is switched off.

    Args:
        command: what the page's title says, ``play`` or ``usi``.
        ready: gets the page's address, which `gougi status` shows too; called from a thread, as ``warn``.
        warn: gets a line that says why there is no page.
    """
    from master.live.listening import parse

    place = parse(settings.page.listen)
    if place is None:
        yield None
        return
    import asyncio
    from importlib.metadata import version

    from cluster.machine import status
    from master.live.feed import Feed, PageSettings
    from master.ui.texts import say

    host, port = place
    token = page_token(settings, host)

    def on_ready(url: str) -> None:
        status.tell(page=url)
        ready(url)

    feed = Feed(
        PageSettings(host, port, token, {"command": command, "version": version("gougi")}),
        on_ready,
        lambda why: warn(say("no live page: {why}", why=why)),
    )
    feed.start()
    try:
        yield feed
    finally:
        status.tell(page="")
        await asyncio.to_thread(feed.close)


def page_token(settings: Config, host: str) -> str:
    """The token that a browser has to show: the environment's, else one for this run where others can reach
    ``host``."""
    import secrets

    from master.live.listening import is_loopback

    given = settings.page.token
    if given is not None:
        return given.get_secret_value()
    return "" if is_loopback(host) else secrets.token_urlsafe(24)
