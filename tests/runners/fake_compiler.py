# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Acts as LLVM's interactive inliner: asks two questions, then shows the fault given as argument.

opt FAULT [NUMBER] -inliner-interactive-channel-base=BASE ...
"""

from __future__ import annotations

import os
import signal
import sys
import time

SPEC = '{"name":"%s","type":"int64_t","port":0,"shape":[1]}'
FEATURES = ",".join(SPEC % name for name in ("node_count", "callee_users", "inlining_default"))
HEADER = f'{{"features":[{FEATURES}],"advice":{SPEC % "inlining_decision"}}}\n'.encode()
CONTEXT = b'{"context":""}\n'


def question(number: int, node_count: int = 5) -> bytes:
    """An observation with this node count and the default 1."""
    values = (node_count, 7, 1)
    tensors = b"".join(value.to_bytes(8, sys.byteorder, signed=True) for value in values)
    return b'{"observation":%d}\n' % number + tensors + b"\n"


STREAM = HEADER + CONTEXT + question(0)


def hang() -> None:
    """Hang until killed."""
    while True:
        time.sleep(60)


def opened(base: str) -> tuple[int, int]:
    """The two ends, as LLVM opens them."""
    return os.open(f"{base}.in", os.O_RDONLY), os.open(f"{base}.out", os.O_WRONLY)


def ask(ends: tuple[int, int], data: bytes) -> int:
    """The answer to `data`, a question."""
    os.write(ends[1], data)
    return int.from_bytes(os.read(ends[0], 8), sys.byteorder, signed=True)


def session(base: str, count: int = 2) -> tuple[int, int]:
    """Ask `count` questions and print the sum of the answers; the ends stay open."""
    ends = opened(base)
    os.write(ends[1], HEADER + CONTEXT)
    print(sum(ask(ends, question(number)) for number in range(count)), flush=True)
    return ends


def stream(base: str, data: bytes, pieces: int = 1) -> tuple[int, int]:
    """Send `data`, valid or not, in this number of pieces."""
    ends = opened(base)
    step = -(-len(data) // pieces) or 1
    for start in range(0, len(data), step):
        os.write(ends[1], data[start : start + step])
        if pieces > 1:
            time.sleep(0.001)
    return ends


def show(fault: str, number: int, base: str) -> int:  # noqa: C901  (a list of cases)
    """Show the fault; returns an exit code."""
    match fault:
        case "sessions":
            for _ in range(number):
                os.closerange(3, 10)
                session(base)
        case "exits":
            return number
        case "exits after":
            session(base)
            return number
        case "exits within":
            stream(base, STREAM[:number])
        case "dies within":
            stream(base, STREAM[:number])
            os.kill(os.getpid(), signal.SIGKILL)
        case "dies":
            session(base)
            os.kill(os.getpid(), number)
        case "stalls":
            stream(base, STREAM[:number])
            hang()
        case "trickles":
            ends = stream(base, STREAM, len(STREAM))
            print(int.from_bytes(os.read(ends[0], 8), sys.byteorder), flush=True)
        case "garbage":
            stream(base, b"\x93garbage" * number)
            hang()
        case "endless line":
            ends = opened(base)
            while True:
                os.write(ends[1], b"{" * 4096)
        case "only asks":
            ends = session(base)
            while True:
                os.write(ends[1], question(2))
        case "second header":
            session(base)
            session(base)
        case "header behind a question":
            opened(base)
            stream(base, STREAM + HEADER)
            hang()
        case "skips a number":
            ask(session(base), question(number))
        case "no newline":
            ask(session(base), question(2)[:-1] + b"x")
        case "other header":
            os.write(session(base)[1], HEADER.replace(b"callee", b"caller"))
            hang()
        case "other advice":
            stream(base, HEADER.replace(b"inlining_decision", b"priority"))
            hang()
        case "no header":
            stream(base, CONTEXT)
            hang()
        case "floods":
            ends = session(base)
            for _ in range(160):
                os.write(2, b"x" * (1 << 16))
            ask(ends, question(2))
        case "ignores":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            stream(base, b"garbage")
            hang()
        case "forks":
            session(base)
            if os.fork() == 0:
                with open(f"{os.environ['NOTE']}", "w") as note:
                    note.write(f"{os.getpid()} ")
                hang()
            while not os.path.exists(os.environ["NOTE"]) or not os.path.getsize(os.environ["NOTE"]):
                time.sleep(0.001)
            return number
        case "waits":
            session(base)
            with open(os.environ["NOTE"], "w") as note:
                note.write(f"{os.getpid()} ")
            hang()
        case _:
            raise ValueError(fault)
    return 0


if __name__ == "__main__":
    channel = [each.partition("=")[2] for each in sys.argv if "channel-base=" in each]
    plain = [each for each in sys.argv[1:] if not each.startswith("-")]
    sys.exit(show(plain[0], int(plain[1]) if len(plain) > 1 else 0, channel[0]))
