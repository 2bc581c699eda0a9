# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve RUNNER`: a model server, the other end of `pipe:BASE` and of `grpc:HOST:PORT`.

The servers are `passpilot.runners.serving.pipe_server` and `passpilot.runners.serving.grpc_server`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final

from passpilot.cli.parser import Parser
from passpilot.passes.points import search_point
from passpilot.plugin.load import load_file
from passpilot.runners.serving.pipe_server import PipeServer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_REPEAT_EVERY: Final = 0.05
_PATIENCE: Final = 1.0


class _Stopped(KeyboardInterrupt):
    """A signal asks the server to end; not an Exception, so that no policy swallows it."""


@contextlib.contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """Let SIGINT and SIGTERM raise `_Stopped` in the main thread, once, and set the event that this yields.

    The event is for the case that a policy swallows whatever is raised.
    A signal that comes just before a system call sets Python's flag, but the call then blocks, and the
    handler does not run. So another thread learns of the signal, too, and repeats it until it is handled.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(writer, False)
    stopping, stopped = threading.Event(), threading.Event()

    def stop(number: int, _frame: object) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)  # what follows is the clean-up, which is to be complete
        stopping.set()
        raise _Stopped(number)

    def repeat() -> None:
        while not stopped.is_set():
            for number in os.read(reader, 16):
                while number in _SIGNALS and not stopped.wait(_REPEAT_EVERY):
                    signal.pthread_kill(thread, number)

    thread = threading.get_ident()
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {each: signal.signal(each, stop) for each in _SIGNALS}
    repeater = threading.Thread(target=repeat, name="passpilot-serve-signals", daemon=True)
    repeater.start()
    try:
        yield stopping
    finally:
        stopped.set()
        os.write(writer, b"\0")
        repeater.join()
        for each, handler in handlers.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(woken)
        os.close(reader)
        os.close(writer)


def _parser() -> Parser:
    parser = Parser(
        "passpilot serve",
        description="Serve a runner to compilers: on this machine one after the other, which ask it as\n"
        "pipe:BASE, or many at once, which ask it as grpc:HOST:PORT.",
        epilog="examples:\n  passpilot serve python:policy.py:decide --pipe /tmp/ch &\n"
        "  passpilot opt a.bc -passes='default<Oz>' --inline=pipe:/tmp/ch -o b.bc\n\n"
        "  passpilot serve onnx:model.onnx --grpc :5005 &\n"
        "  passpilot opt a.bc -passes='default<Oz>' --inline=grpc:127.0.0.1:5005 -o b.bc",
    )
    add = parser.option
    parser.add_argument("runner", metavar="RUNNER", help="what to serve, such as python:policy.py:decide")
    add("pipe", metavar="BASE", help="make the FIFOs BASE.in and BASE.out")
    add(
        "grpc",
        metavar="[HOST:]PORT",
        help="listen there (127.0.0.1); 0: print a free port",
    )
    add("load", metavar="FILE.py", action="append", default=[], help="run this file first")
    add("once", action="store_true", help="end after one client")
    add("point", metavar="NAME", default="inline", help="the decision point (inline)")
    add("timeout", metavar="S", type=float, default=10.0, help="seconds per message (10)")
    add("token", metavar="TEXT|@FILE", help="gRPC: answer only clients that send this")
    add("tls-cert", metavar="FILE", help="gRPC: speak TLS, with this certificate (PEM)")
    add("tls-key", metavar="FILE", help="gRPC: the private key of the certificate (PEM)")
    parser.traceback_option()
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command `passpilot serve`; ends with 0 on SIGINT and SIGTERM, its FIFOs removed."""
    args = _arguments(argv)
    for file in args.load:
        load_file(file)
    args.point = search_point(args.point).name
    with contextlib.suppress(_Stopped), _stop_on_signals() as stopping:
        if args.pipe is None:
            _serve_grpc(args)
        else:
            server = PipeServer(
                args.runner,
                args.pipe,
                point=args.point,
                timeout=args.timeout,
                notice=_notice,
                stopping=stopping,
            )
            server.run(once=args.once)
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    args = parser.parse_args(argv)
    if (args.pipe is None) == (args.grpc is None):
        got = "none" if args.pipe is None else "both"
        parser.error(f"expected one of --pipe BASE and --grpc [HOST:]PORT, got {got}")
    for name in ("token", "tls_cert", "tls_key"):
        if args.pipe is not None and getattr(args, name) is not None:
            parser.error(f"--{name.replace('_', '-')}: expected --grpc with it, got --pipe")
    return args


def _notice(text: str) -> None:
    print(f"passpilot serve: {text}", file=sys.stderr, flush=True)


def _serve_grpc(args: argparse.Namespace) -> None:
    from passpilot.runners.remote.auth import read_guard
    from passpilot.runners.serving.grpc_server import GrpcServer, announce

    token, tls = read_guard(args, "serve")
    server = GrpcServer(
        args.runner,
        args.grpc,
        point=args.point,
        timeout=args.timeout,
        notice=_notice,
        token=token,
        tls=tls,
    )
    try:
        with server:
            announce(args.grpc, server.port)
            (server.ended if args.once else threading.Event()).wait()
    finally:
        if server.sessions:
            # A policy that never returns holds a thread, for which Python would wait, and maybe stdout.
            flusher = threading.Thread(target=sys.stdout.flush, daemon=True)
            flusher.start()
            flusher.join(_PATIENCE)
            os._exit(0)
