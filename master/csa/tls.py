"""TLS to a CSA server: off by default, for the protocol knows none; for a server, or a tunnel, that offers it."""

from __future__ import annotations

import ssl


class TlsError(Exception):
    """The certificates to trust cannot be read; the text names the file."""


def tls_context(ca_file: str = "") -> ssl.SSLContext:
    """A context that verifies a connection: certificate and host name always.

    Args:
        ca_file: certificates to trust (PEM), in place of this machine's.

    Raises:
        TlsError: the file cannot be read, or holds no certificate.
    """
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise TlsError(f"{ca_file}: cannot read the certificates to trust: {_reason(error)}") from error


def handshake_failure(peer: str, error: ssl.SSLError) -> str:
    """The reason why no TLS connection came about, in one line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {peer} is not trusted: {error.verify_message}"
    return f"{peer} does not speak TLS as we do: {_reason(error)}"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or str(error)
    return getattr(error, "strerror", None) or str(error)
