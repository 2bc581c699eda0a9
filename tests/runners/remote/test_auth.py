# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens: where they come from, where they may go, and who has the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError, UsageError
from passpilot.runners.remote.auth import (
    Credentials,
    has_token,
    is_loopback,
    read_credentials,
    read_guard,
    read_token,
)
from passpilot.runners.remote.grpc_messages import split_address


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.9.8.7", True),
        ("[::1]", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("[::]", False),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_what_is_certainly_this_machine(host: str, here: bool) -> None:
    assert is_loopback(host) is here


@pytest.mark.parametrize("text", ["", "a b", " a", "a\n", "a\tb", "ä", "a\x7f"])
def test_tokens_that_no_header_holds(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_token(text, "who")
    told = "who: expected a token of printable ASCII without spaces, got another text"
    assert str(caught.value) == told, "the token itself is not shown"


def test_a_token_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("  se@cret \n\n")
    assert read_token(f"@{path}", "who") == "se@cret"
    for content in (b"", b"\n", b"two words", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="expected a token of printable ASCII"):
            read_token(f"@{path}", "who")


def test_who_has_the_token() -> None:
    assert has_token((("authorization", "Bearer secret"),), "secret")
    assert has_token((("x", "y"), ("authorization", b"Bearer secret")), "secret")
    assert has_token(None, "")
    assert has_token((("authorization", "Bearer other"),), "")
    wrong = (
        "Bearer other",
        "secret",
        "Bearer",
        "Bearer secret2",
        "Bearer secre",
        "bearer secret",
        b"\xff",
        "",
    )
    for value in wrong:
        assert not has_token((("authorization", value),), "secret")
    assert not has_token((("Authorization", "Bearer secret"),), "secret")
    assert not has_token((), "secret")
    assert not has_token(None, "secret")


def test_what_a_client_sends() -> None:
    assert Credentials().metadata == ()
    assert Credentials(b"certificates").metadata == ()
    assert Credentials(token="t").metadata == (("authorization", "Bearer t"),)


def test_a_token_leaves_the_machine_only_under_tls(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("PEM")
    with pytest.raises(UsageError) as caught:
        read_credentials("far.example", "", "t", "w", error=UsageError, hint="add tls=no")
    told = "w: expected TLS for a token that leaves this machine, got none; add tls=no to send it as it is"
    assert str(caught.value) == told
    assert read_credentials("far.example", "no", "t", "w", hint="") == Credentials(None, "t")
    assert read_credentials("far.example", "", None, "w", hint="") == Credentials()
    assert read_credentials("localhost", "", "t", "w", hint="") == Credentials(None, "t")
    safe = read_credentials("far.example", str(tmp_path / "ca.pem"), "t", "w", hint="")
    assert safe == Credentials(b"PEM", "t")


def test_the_flags_of_a_server(certificate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cert, key, text = certificate / "cert.pem", certificate / "cert.key", tmp_path / "text"
    missing = tmp_path / "none"
    for pair, wrong in {
        (cert, missing): f"s: --tls-key: expected its private key in {missing}, got: No such file",
        (text, key): f"s: --tls-cert: expected a certificate .PEM. in {text}, got other text; ",
        (cert, text): f"s: --tls-key: expected the private key .* of {cert}, got {text}; ",
        (cert, certificate / "other.key"): "s: --tls-key: expected the private key ",
    }.items():
        text.write_bytes(b"hello\n")
        with pytest.raises(InputError, match=wrong):
            read_guard("0.0.0.0:1", None, *map(str, pair), who="s")
    secret, tls = read_guard("0.0.0.0:1", "t", str(cert), str(key), who="s")
    assert (secret, tls) == ("t", (cert.read_bytes(), key.read_bytes()))
    assert read_guard("0.0.0.0:1", None, None, None, who="s") == ("", None)
    assert capsys.readouterr().err == "", "TLS protects the token, and without one there is nothing to read"
    for one in ((str(cert), None), (None, str(key))):
        with pytest.raises(InputError, match="s: --tls-cert and --tls-key belong together"):
            read_guard("1", None, *one, who="s")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("80", ("127.0.0.1", 80)),
        (":80", ("127.0.0.1", 80)),
        ("a-b.c_d:0", ("a-b.c_d", 0)),
        ("[::1%eth0]:65535", ("[::1%eth0]", 65535)),
        ("[fe80::1.2.3.4]:1", ("[fe80::1.2.3.4]", 1)),
    ],
)
def test_addresses(text: str, parts: tuple[str, int]) -> None:
    assert split_address(text, "who") == parts


@pytest.mark.parametrize("text", ["", "a", "a:", "a:1:", "a:-1", "a:123456", "[g]:1", "a:1\n", "٣"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="who: expected HOST:PORT, got "):
        split_address(text, "who")


def test_a_port_is_below_65536() -> None:
    with pytest.raises(UsageError, match="who: expected a port below 65536, got 65536"):
        split_address("a:65536", "who")
