# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve RUNNER`: a model server for the runners `pipe:BASE` and `grpc:HOST:PORT`.

The servers are in `passpilot.runners.serving.pipe_server` and `passpilot.runners.serving.grpc_server`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from passpilot.cli.outputs import prepare
from passpilot.cli.parser import SECONDS, Parser, argument, count_of, flag, option, record, shared
from passpilot.passes.point_search import search_point
from passpilot.plugin.extras import needs
from passpilot.plugin.failures import for_terminal, shown
from passpilot.plugin.load import load_file
from passpilot.runners.serving.pipe_server import PipeServer
from passpilot.runners.serving.sessions import Tally
from passpilot.runners.serving.stop import Stopped, stop_on_signals

_PATIENCE: Final = 1.0


class ServeOptions(NamedTuple):
    """The command line of `passpilot serve`; either `pipe` or `grpc` is None."""

    runner: str = argument("RUNNER", "the runner, such as python:policy.py:decide")
    pipe: str | None = option(metavar="BASE", help="answer at the FIFOs BASE.in and BASE.out")
    grpc: str | None = shared("grpc")
    load: tuple[str, ...] = shared("load")
    once: bool = flag("end after one client")
    point: str = shared("point", "inline unless given", default="inline")
    timeout: float = shared("timeout", "for a message (10)", type=SECONDS, default=10.0)
    frame: int = option(
        metavar="MIB",
        type=count_of("MiB", 1),
        default=1,
        help="the most MiB of a client's tensors (1, or RUNNER's)",
    )
    token: str | None = shared("token", "with --grpc")
    tls_cert: str | None = shared("tls-cert")
    tls_key: str | None = shared("tls-key")
    verbose: bool = flag("print a line at the beginning and the end of each session")


def make_parser() -> Parser:
    parser = Parser(
        "passpilot serve",
        description="Serve a runner to compilers: with --pipe, to one at a time on this machine, which asks\n"
        "pipe:BASE; with --grpc, to many at once, which ask grpc:HOST:PORT.",
        epilog="examples:\n  passpilot serve python:policy.py:decide --pipe /tmp/ch &\n"
        "  passpilot opt a.bc -passes='default<Oz>' --inline=pipe:/tmp/ch -o b.bc\n\n"
        "  passpilot serve onnx:model.onnx --grpc :5005 &\n"
        "  passpilot opt a.bc -passes='default<Oz>' --inline=grpc:127.0.0.1:5005 -o b.bc\n\n"
        "With --grpc it serves 1000 sessions at a time, half of them of one peer, and fewer if there are\n"
        "few file descriptors (ulimit -n). A message must end within --timeout. All unfinished messages\n"
        "together have at most 68 MiB, or 64 times the largest message, half of them from one peer.\n"
        "Connections that ask nothing are closed if descriptors run out.\n\n"
        "SIGTERM, Ctrl-C and SIGHUP end it with exit code 0. If the last two are ignored at the start, as\n"
        "with nohup or & in a script, only SIGTERM ends it.",
    )
    parser.add_fields(ServeOptions)
    parser.traceback_option()
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; ends with 0, its FIFOs removed, on the signals of `stop_on_signals`."""
    prepare()
    options = _parsed(argv)
    for file in options.load:
        load_file(file)
    options = options._replace(point=search_point(options.point).name)
    tally = Tally(_notice, verbose=options.verbose)
    with contextlib.suppress(Stopped), stop_on_signals() as stopping:
        if options.pipe is not None:
            _serve_pipe(options, options.pipe, stopping, tally)
        elif options.grpc is not None:
            _serve_grpc(options, options.grpc, tally)
    _notice(f"ended: {tally}")
    return 0


def _parsed(argv: Sequence[str] | None) -> ServeOptions:
    parser = make_parser()
    options = record(ServeOptions, parser.values(argv))
    if (options.pipe is None) == (options.grpc is None):
        got = "none" if options.pipe is None else "both"
        parser.error(f"expected one of --pipe BASE and --grpc [HOST:]PORT, got {got}")
    if options.runner.startswith("decisions:"):
        parser.error(f"expected a runner that reads tensors alone, got {options.runner}; compilers read it")
    for name in ("token", "tls_cert", "tls_key"):
        if options.pipe is not None and getattr(options, name) is not None:
            parser.error(f"--{name.replace('_', '-')}: expected --grpc with it, got --pipe")
    return options


def _notice(text: str) -> None:
    """One write a line: sessions end in threads of their own, and print writes the line's end by itself."""
    sys.stderr.write(f"passpilot serve: {for_terminal(text)}\n")
    sys.stderr.flush()


def _tell_ready(options: ServeOptions, address: str) -> None:
    """Say on stderr what is served and where, once clients can come."""
    guarded = [name for name, flag in (("TLS", options.tls_cert), ("a token", options.token)) if flag]
    by = f", with {' and '.join(guarded)}" if guarded else ""
    _notice(f"{shown(options.runner)} answers for the decision point {options.point} at {address}{by}")


def _serve_pipe(options: ServeOptions, base: str, stopping: threading.Event, tally: Tally) -> None:
    server = PipeServer(
        options.runner,
        base,
        point=options.point,
        timeout=options.timeout,
        frame=options.frame << 20,
        stopping=stopping,
        ready=lambda: _tell_ready(options, f"pipe:{base}"),
        tally=tally,
    )
    server.run(once=options.once)


def _serve_grpc(options: ServeOptions, address: str, tally: Tally) -> None:
    with needs("grpc", "serve --grpc"):
        from passpilot.runners.remote.auth import read_guard
        from passpilot.runners.remote.grpc_messages import split_address
        from passpilot.runners.serving.grpc_server import GrpcServer, announce

    flags = (options.token, options.tls_cert, options.tls_key)
    token, tls = read_guard(address, *flags, who="serve")
    server = GrpcServer(
        options.runner,
        address,
        point=options.point,
        timeout=options.timeout,
        frame=options.frame << 20,
        token=token,
        tls=tls,
        tally=tally,
    )
    try:
        with server:
            announce(address, server.port)
            _tell_ready(options, f"grpc:{split_address(address, 'address')[0]}:{server.port}")
            (server.ended if options.once else threading.Event()).wait()
    finally:
        if server.sessions:
            # A runner that never returns holds a thread, and perhaps stdout; Python would wait for it.
            flusher = threading.Thread(target=sys.stdout.flush, daemon=True)
            flusher.start()
            flusher.join(_PATIENCE)
            _notice(f"ended: {tally}")
            os._exit(0)
