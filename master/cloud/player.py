"""Check of the player's login before anything is created: the head would find an error only later."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError

from master.config import CsaConfig
from master.csa.login import LoginError, ServerAddress, check_login
from master.words import fault
from worker.files import reason


def check_player(config_file: Path, password: str | None) -> list[str]:
    """Check ``[csa]`` of the head's configuration. Returns warnings, none if all is as usual.

    Args:
        config_file: the head's configuration.
        password: a text with the password on the first line, as the head reads it; None: not known here.

    Raises:
        LoginError: a login with this is impossible; the text names the file, and contains nothing of the password.
    """
    csa = _head(config_file)
    if password is not None:
        password = next(iter(password.splitlines()), "").strip()
    try:
        if not csa.server:
            raise LoginError("server is empty: the head would log in nowhere")
        try:
            ServerAddress.parse(csa.server)
        except ValueError as error:
            raise LoginError(f"server: {error}") from error
        return [f"{config_file}: [csa] {warning}" for warning in check_login(csa.name, csa.game, password)]
    except LoginError as error:
        raise LoginError(f"{config_file}: [csa] {error}") from error


def csa_port(config_file: Path) -> int | None:
    """The port of the head's tournament server; None: the file has none, or cannot be read."""
    try:
        csa = _head(config_file)
        return ServerAddress.parse(csa.server).port if csa.server else None
    except (LoginError, ValueError):
        return None


def _head(config_file: Path) -> CsaConfig:
    """``[csa]`` of the head, without this machine's environment variables, which do not apply there."""
    try:
        sections = tomllib.loads(config_file.read_text(encoding="utf-8-sig"))
        return CsaConfig.model_validate(sections.get("csa", {}))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise LoginError(f"{config_file}: [csa] {key}: {fault(problem, secret=key == 'password')}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise LoginError(f"{config_file}: {reason(error)}") from error
