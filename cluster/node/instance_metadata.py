"""EC2's instance metadata service, version 2 only: what a machine can learn about itself, and what is to become of it.

Session tokens, paths and answers: "Use the Instance Metadata Service to access instance metadata" and the pages that
`cluster.node.departure` names (AWS manuals).
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Final

from cluster.node.departure import Notices

ENDPOINT: Final = "http://169.254.169.254"
ENDPOINT_VARIABLE: Final = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
"""The variable that the AWS SDKs use."""
_TOKEN_LIFETIME_S: Final = 21_600
_LONGEST: Final = 64 * 1024


class MetadataError(Exception):
    """The service does not answer, or not as it should; the text says where and how."""


class InstanceMetadata:
    """A client.

    Args:
        endpoint: ``http://host[:port]``; None: the one that the environment names, else EC2's own.
        timeout_s: for each answer.
    """

    def __init__(self, endpoint: str | None = None, timeout_s: float = 1.0) -> None:
        self.endpoint = (endpoint or os.environ.get(ENDPOINT_VARIABLE) or ENDPOINT).rstrip("/")
        self._timeout_s = timeout_s
        self._token = ""
        # The address is local to the machine: no proxy can reach it, and none may hear of the token.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> str | None:
        """The text at ``path`` below ``/latest/meta-data/``; None: nothing (404).

        Raises:
            MetadataError: no answer, or a refusal.
        """
        if not self._token:
            self._renew()
        try:
            return self._read(path)
        except urllib.error.HTTPError as error:
            if error.code != 401:
                raise MetadataError(f"{self.endpoint}: {path}: status {error.code}") from error
        self._renew()  # tokens end after their time, and with a machine's hibernation
        try:
            return self._read(path)
        except urllib.error.HTTPError as error:
            raise MetadataError(f"{self.endpoint}: {path}: status {error.code}") from error

    def notices(self, now: datetime) -> Notices:
        """Ask for the machine's notices. ``now``: the time of day, with its zone.

        Raises:
            MetadataError: as `get`; an answer that cannot be understood.
        """
        action, left_ms = "", None
        raw = self.get("spot/instance-action")
        if raw is not None:
            action, when = _parse_action(raw)
            left_ms = max(0, round((when - now).total_seconds() * 1000))
        return Notices(
            interruption=action,
            left_ms=left_ms,
            terminating=(self.get("autoscaling/target-lifecycle-state") or "").strip() == "Terminated",
            rebalance=self.get("events/recommendations/rebalance") is not None,
        )

    def _renew(self) -> None:
        request = urllib.request.Request(
            f"{self.endpoint}/latest/api/token",
            method="PUT",
            headers={"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_LIFETIME_S)},
        )
        try:
            self._token = self._open(request)
        except urllib.error.HTTPError as error:
            raise MetadataError(f"{self.endpoint}: no session token: status {error.code}") from error

    def _read(self, path: str) -> str | None:
        url = f"{self.endpoint}/latest/meta-data/{path}"
        request = urllib.request.Request(url, headers={"X-aws-ec2-metadata-token": self._token})
        try:
            return self._open(request)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def _open(self, request: urllib.request.Request) -> str:
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return str(answer.read(_LONGEST).decode("utf-8", errors="replace"))
        except urllib.error.HTTPError:
            raise
        except OSError as error:
            raise MetadataError(f"{self.endpoint}: no answer: {error}") from error


def _parse_action(text: str) -> tuple[str, datetime]:
    """``{"action": "terminate", "time": "2026-09-18T08:22:00Z"}``."""
    try:
        answer = json.loads(text)
        action, when = str(answer["action"]), datetime.fromisoformat(str(answer["time"]).replace("Z", "+00:00"))
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataError(f"spot/instance-action: expected action and time, got {text[:200]!r}") from error
    return action, when if when.tzinfo else when.replace(tzinfo=UTC)
