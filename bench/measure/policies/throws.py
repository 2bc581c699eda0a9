# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a C++ exception costs with smaller unwind tables: the instructions of throws relative to stock ones.

Each throw passes 11 of 200 functions without handlers. valgrind counts the instructions of a run.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, settle, show
from bench.lib.instructions import instructions
from passpilot.plugin import _core
from tests.command import PASSPILOT

FUNCTIONS: Final = 200
DEPTH: Final = 11
THROWS: Final = 2000
MODES: Final = {
    "full": ("-unwind=full",),
    "faults": ("-unwind=faults",),
    "shared by 8": ("-unwind=shared", "-unwind-share=8"),
    "shared by 32": ("-unwind=shared",),
    "shared by 128": ("-unwind=shared", "-unwind-share=128"),
}


def source() -> str:
    """Functions with frames of many sizes, each of which calls another one."""
    lines = ["volatile int sink;", "typedef int pass(int, int);"]
    lines += [f"static pass f{i};" for i in range(FUNCTIONS)]
    for i in range(FUNCTIONS):
        kept = "".join(f"int k{j} = sink; " for j in range(i % 6))
        used = "".join(f" + k{j}" for j in range(i % 6))
        callee = f"f{(i * 7 + 13) % FUNCTIONS}"
        lines.append(
            f"__attribute__((noinline)) static int f{i}(int n, int m) {{ {kept}char a[{8 + i % 5 * 16}]; "
            f'asm volatile("" : : "r"(a) : "memory"); if (!n) throw m; int r = {callee}(n - 1, m); '
            f"return r + sink{used}; }}"
        )
    lines.append(f"static pass *const all[] = {{{', '.join(f'f{i}' for i in range(FUNCTIONS))}}};")
    lines.append("int main(int n, char **v) { int s = 0; int count = v[1] ? 0 : " + str(THROWS) + ";")
    lines.append(f"for (int i = 0; i < count; i++) try {{ s += all[i % {FUNCTIONS}]({DEPTH - 1}, i); }}")
    lines.append("catch (int m) { s ^= m; } return s & 1; }")
    return "\n".join(lines)


@command
def main() -> None:
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.cpp").write_text(source())
        clang = ["clang++-22", "-Oz", "-c", "-emit-llvm", "a.cpp"]
        subprocess.run(clang, cwd=folder, check=True, timeout=120)
        commands: dict[str, list[str | Path]] = {}
        for mode, flags in MODES.items():
            made, image = f"{mode}.o", Path(folder, mode)
            llc = [
                str(PASSPILOT),
                "llc",
                *flags,
                "-filetype=obj",
                "-relocation-model=pic",
                "a.bc",
                "-o",
                made,
            ]
            subprocess.run(llc, cwd=folder, check=True, timeout=120)
            subprocess.run(["clang++-22", made, "-o", image], cwd=folder, check=True, timeout=120)
            table = next(
                data
                for name, _, data in _core.object_sections(Path(folder, made).read_bytes())
                if name == ".eh_frame"
            )
            rows[mode] = {"table": len(table)}
            commands |= {mode: [image], f"{mode}, none": [image, "none"]}
        counts = instructions(commands)
    for mode, row in rows.items():
        row["instructions"] = (counts[mode] - counts[f"{mode}, none"]) / THROWS
        row["ratio"] = row["instructions"] / rows["full"]["instructions"]
    show(f"a throw through {DEPTH} functions", "unwind", rows)
    worst = max(row["ratio"] for mode, row in rows.items())
    settle(Bar("instructions of a throw", worst, 1.2, "full"))
