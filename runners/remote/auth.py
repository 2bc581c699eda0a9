# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens and TLS of gRPC, for both ends: where they are read, and the rule that a token needs TLS.

A client refuses to send its token to another machine without TLS, unless it is told ``tls=no``. A server that
other machines can reach warns. The token travels as ``authorization: Bearer TOKEN``.
"""

from __future__ import annotations

import hmac
import ipaddress
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError
from passpilot.runners.remote.grpc_messages import split_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from passpilot.plugin.errors import Error


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client shows, and by what it knows the server."""

    certificates: bytes | None = None
    """PEM of the certificates that may have signed the server's; None for no TLS."""
    token: str = ""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with the opening of a stream."""
        return (("authorization", _bearer(self.token)),) if self.token else ()


NO_CREDENTIALS: Final = Credentials()


def read_credentials(
    host: str, tls: str, token: str | None, who: str, *, error: type[Error] = InputError, hint: str
) -> Credentials:
    """What a client uses with a server on `host`.

    Args:
        host: the server's.
        tls: a PEM file; empty for no TLS, and ``no`` for none although a token is sent to another machine.
        token: the token, or ``@FILE`` for the text in a file.
        who: what messages begin with.
        error: what is raised if the token would travel unprotected.
        hint: how the caller's user gives `tls`.

    Raises:
        Error: the token would travel unprotected, a file cannot be read, or the token is none.
    """
    if token is not None and not tls and not is_loopback(host):
        told = f"{who}: expected TLS for a token that leaves this machine, got none; "
        raise error(f"{told}{hint} to send it as it is")
    secret = "" if token is None else read_token(token, f"{who}: token")
    certificates = None if tls in ("", "no") else _read(tls, f"{who}: tls", "certificates")
    return Credentials(certificates, secret)


def read_guard(
    address: str, token: str | None, certificate: str | None, key: str | None, *, who: str
) -> tuple[str, tuple[bytes, bytes] | None]:
    """Token and TLS of a server by the flags of its command; warns if others can read the token.

    Args:
        address: the value of --grpc.
        token: that of --token.
        certificate: that of --tls-cert.
        key: that of --tls-key.
        who: what messages begin with.

    Raises:
        Error: a flag is not as its help says.
    """
    host, _ = split_address(address, f"{who}: --grpc")
    secret = "" if token is None else read_token(token, f"{who}: --token")
    tls = _read_tls(certificate, key, who)
    if secret and tls is None and not is_loopback(host):
        told = f"passpilot {who}: --grpc {address}: without TLS, whoever reads the network reads the token"
        print(told, file=sys.stderr, flush=True)
    return secret, tls


def has_token(metadata: Iterable[tuple[str, str | bytes]] | None, token: str) -> bool:
    """Whether a client sends the token of the server; true if the server has none."""
    given = dict(metadata or ()).get("authorization", "")
    said = given if isinstance(given, bytes) else given.encode()
    return not token or hmac.compare_digest(said, _bearer(token).encode())


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine is at the other end."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, which may be anyone's
        return host == "localhost"


def read_token(text: str, who: str) -> str:
    """The token that `text` is, or that the file has which it names as @FILE.

    Raises:
        InputError: the file cannot be read, or it is no token.
    """
    if text.startswith("@"):
        text = _read(text[1:], who, "a token").decode("ascii", "replace").strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(f"{who}: expected a token of printable ASCII without spaces, got another text")
    return text


def _bearer(token: str) -> str:
    return f"Bearer {token}"


def _read_tls(certificate: str | None, key: str | None, who: str) -> tuple[bytes, bytes] | None:
    """What the flags --tls-cert and --tls-key name.

    Raises:
        InputError: a file cannot be read, or one of the two is missing.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise InputError(f"{who}: expected --tls-cert and --tls-key, got one of them")
    chain = _read(certificate, f"{who}: --tls-cert", "a certificate")
    return chain, _read(key, f"{who}: --tls-key", "its private key")


def _read(path: str, who: str, what: str) -> bytes:
    """The bytes of a file of TLS or of a token.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{who}: expected {what} in {path}, got: {error.strerror}") from error
