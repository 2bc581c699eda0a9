# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens and TLS of gRPC, for clients and servers: reads them, and keeps the rule that a token needs TLS.

A client refuses to send its token to another machine without TLS, unless ``tls=no`` is set. A server that
other machines can reach warns. The token travels as ``authorization: Bearer TOKEN``.
"""

from __future__ import annotations

import hmac
import ipaddress
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import read_secret
from passpilot.runners.remote.grpc_messages import split_address


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client's token, and the certificates by which it trusts a server."""

    certificates: bytes | None = None
    """PEM certificates, one of which must have signed the server's; None for no TLS."""
    token: str = ""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata to open a stream with."""
        return (("authorization", _bearer(self.token)),) if self.token else ()


NO_CREDENTIALS: Final = Credentials()


def read_credentials(
    host: str, tls: str, token: str | None, who: str, *, error: type[Error] = InputError, hint: str
) -> Credentials:
    """Read a client's token and certificates for the server on `host`.

    Args:
        host: the server's host.
        tls: a PEM file; empty for no TLS; ``no`` for no TLS even if a token goes to another machine.
        token: the token, or ``@FILE`` for the text in a file.
        who: the beginning of error messages.
        error: the class of the error if the token would travel unprotected.
        hint: tells the user how to set `tls`.

    Raises:
        Error: the token would travel unprotected or is invalid, or a file cannot be read.
    """
    if token is not None and not tls and not is_loopback(host):
        text = f"{who}: expected TLS for a token that leaves this machine, got none; "
        raise error(f"{text}{hint} to send it as it is")
    secret = "" if token is None else read_token(token, f"{who}: token")
    certificates = None if tls in ("", "no") else _read(tls, f"{who}: tls", "certificates")
    return Credentials(certificates, secret)


def read_guard(
    address: str, token: str | None, certificate: str | None, key: str | None, *, who: str
) -> tuple[str, tuple[bytes, bytes] | None]:
    """Read a server's token, certificate and key from its flags; warn if others can read the token.

    Args:
        address: the value of --grpc.
        token: the value of --token.
        certificate: the value of --tls-cert.
        key: the value of --tls-key.
        who: the command, for messages.

    Raises:
        Error: a flag has a wrong value.
    """
    host, _ = split_address(address, f"{who}: --grpc")
    secret = "" if token is None else read_token(token, f"{who}: --token")
    if (certificate is None) != (key is None):
        raise InputError(f"{who}: --tls-cert and --tls-key belong together")
    tls = None
    if certificate is not None and key is not None:
        chain = _read(certificate, f"{who}: --tls-cert", "a certificate")
        tls = (chain, _read(key, f"{who}: --tls-key", "its private key"))
        _check_pair(certificate, key, who)
    if secret and tls is None and not is_loopback(host):
        text = f"passpilot {who}: --grpc {address}: without TLS, whoever reads the network reads the token"
        print(text, file=sys.stderr, flush=True)
    return secret, tls


def _check_pair(certificate: str, key: str, who: str) -> None:
    """Refuse what OpenSSL does not take, whose reason gRPC does not say."""
    import ssl  # only servers with TLS need it

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(certificate)
    except ssl.SSLError as error:
        expected = f"{who}: --tls-cert: expected a certificate (PEM) in {certificate}"
        raise InputError(f"{expected}, got other text; make one by `openssl req -x509`") from error
    try:
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        expected = f"{who}: --tls-key: expected the private key (PEM, without a password) of {certificate}"
        raise InputError(f"{expected}, got {key}; give the two that belong together") from error


def has_token(metadata: Iterable[tuple[str, str | bytes]] | None, token: str) -> bool:
    """Whether a client's `metadata` holds the server's `token`; true if the server has none."""
    value = dict(metadata or ()).get("authorization", "")
    sent = value if isinstance(value, bytes) else value.encode()
    return not token or hmac.compare_digest(sent, _bearer(token).encode())


def is_loopback(host: str) -> bool:
    """Whether `host` is certainly this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, which may lead to any machine
        return host == "localhost"


def read_token(text: str, who: str) -> str:
    """The token in `text`, or in the file that `text` names as @FILE.

    Raises:
        InputError: the file cannot be read, or the token is invalid.
    """
    if text.startswith("@"):
        text = _read(text[1:], who, "a token").decode("ascii", "replace").strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(f"{who}: expected a token of printable ASCII without spaces, got another text")
    return text


def _bearer(token: str) -> str:
    return f"Bearer {token}"


def _read(path: str, who: str, what: str) -> bytes:
    """Read a TLS or token file."""
    try:
        return read_secret(path)
    except OSError as error:
        raise InputError(f"{who}: expected {what} in {path}, got: {error.strerror}") from error
