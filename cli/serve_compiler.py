# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve-compiler --grpc HOST:PORT`: serves compilations to agents that learn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from passpilot.cli.parser import SECONDS, Parser, count_of, flag, option, record, several, shared
from passpilot.plugin.errors import UsageError
from passpilot.plugin.extras import needs
from passpilot.runners.serving.stop import stop_signals

_MOST: Final = max(8, 2 * (os.cpu_count() or 1))


class ServeCompilerOptions(NamedTuple):
    grpc: str = shared("grpc", required=True)
    modules: str | None = option(metavar="DIR", help="let agents name modules in this folder")
    load: tuple[str, ...] = shared("load")
    timeout: float = shared("timeout", "for each action of an agent (60)", type=SECONDS, default=60.0)
    compile_timeout: float = option(
        metavar="SECONDS", type=SECONDS, default=300.0, help="how long to wait for each step of LLVM (300)"
    )
    episodes: int = option(
        metavar="N",
        type=count_of("episodes", 1),
        default=_MOST,
        help=f"the most episodes at a time ({_MOST})",
    )
    token: str | None = shared("token", "a random one unless given, which is printed")
    no_token: bool = flag("answer everybody who reaches the port")
    allow_files: bool = flag(
        "let modules and pipelines of agents read and write files, with the rights of the service"
    )
    target: tuple[str, ...] = several(
        metavar="NAME",
        help="a target that agents may have, such as aarch64 (this machine's; any with --allow-files)",
    )
    tls_cert: str | None = shared("tls-cert")
    tls_key: str | None = shared("tls-key")


def make_parser() -> Parser:
    parser = Parser(
        "passpilot serve-compiler",
        description="Let agents take the decisions of compilations over gRPC, one episode per compilation.",
        epilog="example:\n  passpilot serve-compiler --grpc :5005 --modules modules/\n\n"
        "Without --token, it prints a line with the token that agents must send. An agent can let LLVM run\n"
        "its passes on any module: give the token only to people to whom you would give a shell.\n\n"
        "It serves 1000 agents at a time, half of them of one peer, and fewer if there are few file\n"
        "descriptors (ulimit -n). A message must end within --timeout, and has at most 200 MiB; all\n"
        "unfinished ones together have at most 400 MiB, half of them from one peer. Connections that ask\n"
        "nothing are closed if descriptors run out.\n\n"
        "In Python an agent uses passpilot.CompilerClient. For other languages, compiler.proto in the\n"
        "package defines the service.\n\n"
        "SIGTERM, Ctrl-C and SIGHUP end it with exit code 0. If the last two are ignored at the start, as\n"
        "with nohup or & in a script, only SIGTERM ends it.",
        old_names={"corpus": "modules"},
    )
    parser.add_fields(ServeCompilerOptions)
    parser.traceback_option()
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; ends with 0 on SIGTERM, and on SIGINT and SIGHUP unless they are ignored."""
    options = _parsed(argv)
    with needs("grpc", "serve-compiler"):
        import passpilot.training.compiler_server  # noqa: F401  (imported again where it is used)
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(options))
    return 0


def _parsed(argv: Sequence[str] | None) -> ServeCompilerOptions:
    options = record(ServeCompilerOptions, make_parser().values(argv))
    if options.no_token and options.token is not None:
        raise UsageError("serve-compiler: choose --token or --no-token")
    return options


async def _serve(options: ServeCompilerOptions) -> None:
    from passpilot.training.compiler_server import CompilerServer
    from passpilot.training.pool import WorkerOptions

    loop, serving = asyncio.get_running_loop(), asyncio.current_task()
    assert serving is not None, "it runs"
    stops = stop_signals()
    for number in stops:
        loop.add_signal_handler(number, serving.cancel)
    token, tls = _guard(options)
    workers = WorkerOptions(options.load, options.allow_files, targets=options.target)
    limits = (options.episodes, options.timeout, options.compile_timeout)
    server = CompilerServer(options.modules, workers, *limits, token=token)
    try:
        await server.start(options.grpc, tls)
        if options.token is None and token:
            print(f"token {token}", flush=True)
        await asyncio.Event().wait()  # for a signal
    finally:
        for number in stops:
            loop.add_signal_handler(number, int)  # nothing may interrupt the clean-up below
        await server.stop()


def _guard(options: ServeCompilerOptions) -> tuple[str, tuple[bytes, bytes] | None]:
    """The token, empty with --no-token, and certificate and key."""
    from passpilot.runners.remote.auth import is_loopback, read_guard
    from passpilot.runners.remote.grpc_messages import split_address

    token = options.token
    if token is None and not options.no_token:
        token = secrets.token_hex(16)
    if options.no_token and not is_loopback(split_address(options.grpc, "serve-compiler: --grpc")[0]):
        text = f"passpilot serve-compiler: --grpc {options.grpc}: without a token, whoever reaches it uses it"
        print(text, file=sys.stderr, flush=True)
    return read_guard(options.grpc, token, options.tls_cert, options.tls_key, who="serve-compiler")
