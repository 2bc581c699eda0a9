# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/reliability.md of what the sweeps have counted.

usage: python -m bench.pages.reliability [--check]

It reads what bench.sweeps and tests.outside have written into bench/results.
With --check it writes nothing, and fails if the page is not what it would write.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from bench.lib import RESULTS, command, read
from bench.pages.debian import read_rows, witnesses
from bench.pages.markdown import table, write_or_check

PAGE: Final = "docs/reliability.md"
KINDS: Final = {
    "units": "units, default advice",
    "csmith": "csmith, random",
    "corpus": "corpus, random",
    "llvm-stress": "llvm-stress, both",
    "sequences": "random pipelines",
}
"""What the programs of a trial of bench.sweeps.programs are."""

Rows = dict[str, dict[str, Any]]


def soak(rows: Rows) -> str:
    """The counts of bench.sweeps.programs."""
    lines = []
    for kind, text in KINDS.items():
        for name, row in rows.items():
            trial, _, programs = name.partition(", ")
            if programs == kind:
                counts = (row["cases"], row["decisions"], row["left out"], len(row["wrong"]))
                figures = (f"{count:,}" for count in counts)
                lines.append([text, f"`{trial}`", *figures, row["date"]])
    heads = ["programs", "trial", "cases", "decisions", "left out", "wrong", "last"]
    return table(heads, lines)


def unwind_tables(rows: Rows) -> str:
    """The cases of bench.sweeps.programs about unwind tables."""
    lines = []
    for name, row in rows.items():
        trial, _, kind = name.partition(", ")
        if kind == "unwind":
            counts = (row["cases"], row["decisions"], row["left out"], len(row["wrong"]))
            lines.append([f"`{trial}`", *(f"{count:,}" for count in counts), row["date"]])
    return table(["trial", "cases", "compared", "left out", "wrong", "last"], lines)


def readers(rows: Rows) -> str:
    """The counts of bench.sweeps.fuzz."""
    lines = [
        [f"`{name}`", *(f"{row[key]:,}" for key in ("runs", "inputs", "wrong")), row["date"]]
        for name, row in rows.items()
    ]
    return table(["reader", "inputs tried", "that reach other code", "wrong", "last"], lines)


def runners(cases: Sequence[dict[str, Any]]) -> str:
    """The decisions and the growth of bench.sweeps.runners, by runner."""
    points = ("inline", "evict", "priority")
    found = {(case["kind"], case["point"]): case for case in cases}
    lines = []
    for kind in dict.fromkeys(case["kind"] for case in cases):
        row = [f"`{kind}`"]
        for point in points:
            case = found.get((kind, point))
            grown = max(case["grown"], case["grown_there"], 0) if case else 0
            row += [f"{case['decisions']:,}", f"{grown:,}"] if case else ["", ""]
        lines.append(row)
    heads = [head for point in points for head in (f"`{point}`", "kB")]
    wrong = sum(bool(case["wrong"]) for case in cases)
    return f"{table(['runner', *heads], lines)}\n{len(cases)} cases, {wrong} of them wrong.\n"


def mlir(rows: Rows) -> str:
    """The counts of bench.sweeps.mlir."""
    kinds: dict[str, list[Any]] = {}
    for name, row in rows.items():
        sweep, _, pipeline = name.partition(", ")
        if row["done"] or row["wrong"]:
            kinds.setdefault(pipeline if sweep == "random" else sweep, []).append(row)
    lines = [
        [
            f"`random`, `{name}`" if name != "identity" else f"`identity`, {len(same)} pipelines",
            f"{sum(sum(row['done'].values()) for row in same):,}",
            "" if name == "identity" else str(same[0]["changed"]),
            str(sum(len(row["wrong"]) for row in same)),
            max(row["date"] for row in same),
        ]
        for name, same in kinds.items()
    ]
    return table(["sweep", "modules", "changed", "wrong", "last"], lines)


def outside(rows: Rows) -> str:
    """The projects of others."""
    lines = []
    for name, row in sorted(rows.items()):
        stock, *ours = (row["builds"][name] for name in ("clang-22", "random", "@oz"))
        ends = {(build["exit"], build["counts"]) for build in (stock, *ours)}
        kind = ", ".join(filter(None, (row["language"], row["known"])))
        same = "yes" if len(ends) == 1 else "no"
        lines.append([name, row["version"], kind, stock["counts"] or "pass", same])
    heads = ["project", "version", "", "tests with clang-22", "the same with ours"]
    return table(heads, lines)


def differential(rows: Rows) -> str:
    """The comparison with LLVM's own runner, in a sentence."""
    questions = sum(row["questions"] for row in rows.values())
    same = all(row["answers"] == row["bitcode"] == "same" for row in rows.values())
    equal = sum(not row["features"] for row in rows.values())
    return (
        f"{len(rows)} whole programs, {questions:,} questions. The decisions and the bitcode\n"
        f"are {'those' if same else 'not always those'} of stock opt's interactive mode, and all 37 features "
        f"in {equal} programs; [the others](interop.md#mlgo)\ndiffer in two counts."
    )


def mlgo_reader(result: dict[str, Any]) -> str:
    """The logs that MLGO's reader has read, in a sentence."""
    rows: Rows = result["points"]
    counts = ", ".join(f"{row['decisions']:,} at `{point}`" for point, row in rows.items())
    values, different = (sum(row[key] for row in rows.values()) for key in ("values", "different"))
    return (
        f"MLGO's own reader, of {result['reader']}, reads\n"
        f"passpilot's logs of {result['program']}: {counts},\n"
        f"{values:,} values in all, {different or 'none'} of them different from what passpilot reads."
    )


def mutants(rows: Sequence[dict[str, Any]]) -> str:
    """The mutants that tests noticed, by room."""
    lines = []
    for native in (False, True):
        kind = [row for row in rows if row["file"].startswith("plugin/native") == native]
        rooms = sorted({room(row["file"]) for row in kind})
        for name in [*rooms, "all"] if kind else []:
            found = Counter(row["result"] for row in kind if name in ("all", room(row["file"])))
            killed, survived = found["killed"], found["survived"]
            score = f"{killed / (killed + survived):.0%}" if killed + survived else ""
            text = f"`{name}/`" if name != "all" else f"**{'C++' if native else 'Python'}**"
            lines.append([text, *(f"{count:,}" for count in (killed, survived, found["equivalent"])), score])
    return table(["", "noticed", "not noticed", "equivalent", "score"], lines)


def room(file: str) -> str:
    return "/".join(file.split("/")[: 3 if file.startswith("plugin/native") else 1])


def page() -> str:
    return f"""# What has been tried

`python -m bench.pages.reliability` makes this page of what the sweeps have counted. They take hours, go on
where they were ended, and run now and then; `make test` has a small part of them.

## Many programs

`python -m bench.sweeps.programs identity`, `llc`, `csmith`, `corpus`, `stress` and `sequences`.

- With default advice, every unit has stock opt's bitcode at five levels (advice about inlining), and stock
  llc's code at three levels for five targets (evictions and priorities, since 27 November also the
  scheduler): for a half of the units by a policy that reads nothing, for the others with a log, for which
  all features are computed.
- With random answers at the named point, programs print what they print without. `allocator` is the four
  points of the advised allocator; `schedule x10` makes code of every program ten times, with the answers of
  ten seeds; `all` adds the scheduler, vectorization, distribution and outlining;
  `every` adds inlining, sizes, unrolling and the pipeline, and asks the advised allocator in every
  second case, greedy's evictions and priorities in the others. Programs of csmith that run for more than
  five seconds are left out. `part` is `every` in one part of a program of the corpus (40 kB of bitcode,
  80 for the first seeds, by llvm-split), a different one for every seed, linked with stock's code of the
  other parts; parts that take more than two processor minutes to compile are left out.
- `stress` makes code of llvm-stress's functions: stock llc's with default advice, and code that LLVM's
  machine verifier takes with random advice.
- `sequences` runs programs after random pipelines of `advised-pipeline`'s tables; its decisions are
  pipelines.

{soak(read("soak.json")["rows"])}
## Unwind tables

`python -m bench.sweeps.programs exceptions`, `exceptions-alone`, `emulated`, `crashes`, `rows`,
`rows-shared`, `rows-csmith`, `rows-exceptions` and `rows-frames` compare
[smaller unwind tables](unwind.md) with those of stock clang.

- `exceptions`: random C++ programs print the same with `faults` and with `shared`, at -O0 to -Oz, linked
  with and without `-flto`, by `passpilot c++` and by stock clang with the plugin; AArch64 and RISC-V under
  qemu. They throw, catch, throw again, destroy, jump, end threads, break `noexcept` and crash, through
  frames of C, of other calling conventions, and without handlers. Compared are the backtraces of signal
  handlers. `alone`: the same without crashes, with `calls` and `exceptions`. Left out are programs that die
  with stock tables.
- `crashes`: the handler's backtraces by glibc and by libunwind are the same with both modes, and so are the
  frames that gdb prints at the fault, and of core files written at the first three; with `faults`, lldb's of
  the core files, too. Compared are faults.
- `rows`: `passpilot unwind check` finds no difference in the objects of programs of the corpus, and with
  `shared` in the programs, linked by `-flto`; with `random`, in the objects of csmith, of the programs that
  throw, and of frames of all kinds, for x86-64, x32, i386, AArch64 and ARM. Compared are calls and
  instructions that can fault.

{unwind_tables(read("soak.json")["rows"])}
## MLIR in two doors

`python -m bench.sweeps.mlir` runs `passpilot mlir-opt` and stock mlir-opt-22 with the plugin.

- `identity`: modules of the tests (generated ones, four programs of JAX, and the inputs of lit) have the
  same bytes from both, as generic text (with locations, but for generated modules, of which a tool gets 20 at
  once): with native passes, without any pass, and with every point's default, constant and random answers,
  and a decision function. Without advice, text and bytecode are the same, too.
- `random`: generated modules compute the same after random decisions, which both take alike; "changed" are
  those that differ from the module without decisions.

{mlir(read("mlir.json"))}
## Readers of what others wrote

`make fuzz` mutates the inputs of the readers of data, of which SECURITY.md in the checkout has a list, and
keeps those that reach code that no input has reached before: by LLVM's fuzzer library for the readers in C++,
under AddressSanitizer and UBSan, by atheris for those in Python. An input that ends the process, raises
another exception than passpilot's, or takes ten seconds or a GiB, is wrong; it is kept, and `make test` reads
it.

{readers(read("fuzz.json")["rows"])}
## Runners that answer for long

`python -m bench.sweeps.runners`. One process compiles one program again and again, until a runner has made so
many decisions. Every compilation must give the same bytes, and all runners with the same policy the same
ones. Memory may grow by less than 1 MB from decision 100,000 to the end, here and in the runner's peer. kB is
the growth of the process that grew more.

{runners(read("soak-runners.json"))}
## Mistakes that tests notice

`make mutants` puts one mistake at a time into a line of the product that a seed chooses: a condition is
turned round, a number changes by one, a loop does nothing, an exception is not caught. It wants 300 of them
in Python and 40 in C++, and goes on where it ended; the table has those that it has tried. For a mistake in
Python, tests run that execute the line or are near to it; for one in C++, those of its folder. Where nothing
failed at first, a test was added, and the mistake tried again. bench/results/mutants.jsonl has every mistake
and the first test that noticed it; an equivalent one changes nothing that a test can see, and the reason is
there.

{mutants([json.loads(line) for line in (RESULTS / "mutants.jsonl").read_text().splitlines()])}
## Projects of others

`python -m tests.outside` builds projects with `passpilot cc`, with random advice about inlining, evictions
and priorities, and with the policy `@oz`, and runs their own tests. As many tests must pass and fail as with
clang-22.

{outside(read("outside.json"))}
## Packages of Debian

`python -m bench.sweeps.debian FOLDER` builds source packages of Debian by their own rules, which
`python -m bench.sweeps.debian.choose` has chosen by a rule. Each is recorded as a [corpus](corpus.md), which
is verified. Its own tests run with clang-22, twice, with random advice about inlining, evictions, priorities
and the pipeline, and with the policy `@oz`, all at -Oz, with sections that are collected and folded. Where
the build runs no tests, those of `debian/tests` run (autopkgtest) that need neither root nor a network: the
archive's packages are installed, with the files of the build in their place. A test that differs between the
two runs with clang-22 is flaky; one that passes in both must pass with advice. A suite that prints no names
or counts is one test.

{witnesses(read_rows())}
## LLVM's own runner

`python -m bench.sweeps.differential`: {differential(read("differential.json"))}

`python -m bench.sweeps.mlgo_reader`: {mlgo_reader(read("mlgo-reader.json"))}
"""


@command
def main(*, check: bool = False) -> None:
    write_or_check({PAGE: page()}, check=check)
