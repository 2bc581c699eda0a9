# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deadlines hold while the wall clock is set back, and while a peer stalls in the handshake of TLS."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin
from tests.command import GENEROUS, OPT, PASSPILOT, program

CLOCK: Final = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME && getenv("STEP") && !access(getenv("STEP"), F_OK))
    now->tv_sec -= 3600;
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec found;
  clock_gettime(CLOCK_REALTIME, &found);
  now->tv_sec = found.tv_sec;
  now->tv_usec = found.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec found;
  clock_gettime(CLOCK_REALTIME, &found);
  if (now)
    *now = found.tv_sec;
  return found.tv_sec;
}
"""
"""Sets the wall clock back by an hour, once a file appears."""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that sets the clock back."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    made = folder / "clock.so"
    subprocess.run([OPT.with_name("clang"), "-shared", "-fPIC", folder / "clock.c", "-o", made], check=True)
    return made


@pytest.mark.parametrize("door", ["passpilot", "opt"])
@pytest.mark.parametrize("keys", ["", "?protocol=mlbridge", "?tls={}/cert.pem"])
def test_a_silent_peer_while_the_clock_is_set_back(
    tmp_path: Path, clock: Path, certificate: Path, door: str, keys: str
) -> None:
    """The peer takes the connection and says nothing, neither of TLS nor of gRPC."""
    (tmp_path / "in.ll").write_text(program(1))
    with socket.create_server(("127.0.0.1", 0)) as peer:
        peer.settimeout(GENEROUS)
        spec = f"grpc:127.0.0.1:{peer.getsockname()[1]}{keys.format(certificate)}"
        tool = [OPT, f"-load-pass-plugin={llvm_plugin()}"] if door == "opt" else [PASSPILOT, "opt"]
        before = "-passpilot-" if door == "opt" else "--"
        advice = [f"{before}timeout=0.5", f"{before}inline={spec}"]
        command = [*map(str, tool), *advice, "in.ll", "-passes=default<O2>", "-disable-output"]
        step = tmp_path / "step"
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, "LD_PRELOAD": str(clock), "STEP": str(step)},
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            connection, _ = peer.accept()
            with connection:
                step.touch()
                try:
                    _, said = child.communicate(timeout=GENEROUS)
                finally:
                    child.kill()
    assert child.returncode == 1
    assert "127.0.0.1" in said
    assert "deadline" in said or "within 0.5 s" in said or "UNAVAILABLE" in said
