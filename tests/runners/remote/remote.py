# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model server over a pipe or gRPC, for tests of what the two have in common."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.runners.serving import grpc_serving, serving


@dataclass(frozen=True, slots=True)
class Remote:
    """A transport, `pipe` or `grpc`, and the base of a pipe, beside a file of policies."""

    scheme: str
    base: str

    def policy(self, name: str) -> str:
        """The policy `name` in the file."""
        return serving.spec(self.base, name)

    @contextlib.contextmanager
    def served(self, runner: str, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
        """`passpilot serve` as a child, and the spec of its clients."""
        if self.scheme == "pipe":
            with serving.served(runner, self.base, *flags) as child:
                yield child, f"pipe:{self.base}"
        else:
            with grpc_serving.served(runner, *flags) as (child, target):
                yield child, f"grpc:{target}"

    @contextlib.contextmanager
    def server(self, runner: str, point: str = "inline") -> Iterator[str]:
        """The spec for a server's clients; a gRPC server is in this process and must end without sessions."""
        if self.scheme == "pipe":
            with self.served(runner, "--point", point) as (_, address):
                yield address
        else:
            with grpc_serving.server(runner, point) as made:
                yield f"grpc:{grpc_serving.target_of(made)}"
