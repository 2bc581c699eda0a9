# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A million decisions of every kind of runner and every transport: neither memory nor answers change.

A case is one kind of runner at one decision point, in a process of its own. It compiles one program again and
again until the decisions are made. Memory is what is resident after a compilation, without pages of files;
its growth from decision 100,000 to the end must stay below 1 MB, here and in the runner's peer; where fewer
than 200,000 are wanted, from the half of them. Every compilation must give the same bytes. The Python policy,
the C function and all transports give the same answers, so that their bytes must be equal. The programs are
such that a million decisions take the least time: at `inline` a module of many calls, whose pipeline is the
inliner alone; at the other points a function with many live values.

`replay` and `random` have an advisor for every compilation, the others one for all; `attach` answers stock
opt and llc, which run again and again. A case that takes longer than --most seconds ends with the decisions
that it has made. Every case is one line of FILE and stands in RESULTS, and is not done again unless more
decisions are wanted; Ctrl-C ends the soak, and the next call goes on. Exit code 1 if a case is wrong.

"""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import passpilot
from bench.lib import RESULTS, ROOT, command, show_rows
from bench.sweeps.runner_kinds import ALIKE, MAKERS, READS, Kinds
from passpilot import Module, emit, optimize
from passpilot.features.point import find_point
from passpilot.plugin.errors import Error
from passpilot.runners.attach.answers import Answers
from passpilot.runners.attach.run import attach
from passpilot.runners.spec import RunnerLike, make_runner
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions, write_decisions
from tests import stock
from tests.corpus.build import bindir
from tests.passes.allocation.allocated import pressure
from tests.runners.serving.serving import resident_kilobytes

if TYPE_CHECKING:
    from passpilot import Observation
    from passpilot.passes.advisor import Advisor, OnError

MOST: Final = 1000
"""Kilobytes that a process may grow by."""
LEAVES: Final = 20
CALLERS: Final = 50
"""Functions of the module that the cases of `inline` compile; every caller calls every leaf."""
PIPELINE: Final = "inliner-wrapper"
IN_STOCK: Final = "inliner-ml-advisor-release"
"""The same pass with an advisor that asks."""
AGAIN: Final = ("replay", "random")
"""Kinds whose answers depend on what was asked before: they get an advisor for every compilation."""
ONLY: Final = {"decisions": "inline", "@spill": "priority"}
"""Kinds that one point has."""
KINDS: Final = (*MAKERS, "replay", "attach", *ONLY)


@dataclass
class Case:
    """One kind at one point; `wrong` says what was, and is empty if nothing was."""

    kind: str
    point: str
    decisions: int = 0
    seconds: float = 0.0
    grown: int = 0
    """Kilobytes, here."""
    grown_there: int = 0
    """... in the peer."""
    wrong: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.point


@dataclass
class Meter:
    """Looks at the memory after 100,000 decisions or a half of them, and at the end."""

    wanted: int
    most: float
    peer: int | None = None
    began: float = field(default_factory=time.monotonic)
    first: tuple[int, int] | None = None

    def look(self) -> tuple[int, int]:
        """The kilobytes of both processes."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        return resident_kilobytes(), resident_kilobytes(self.peer) if self.peer else 0

    def is_done(self, case: Case) -> bool:
        """Whether the case ends; then its growth is known."""
        case.seconds = round(time.monotonic() - self.began, 1)
        late = case.seconds > self.most
        if self.first is None and case.decisions >= min(100_000, self.wanted / 2):
            self.first = self.look()
        if case.decisions < self.wanted and not late:
            return False
        last = self.look()
        if self.first is None:
            case.wrong = f"made {case.decisions} decisions in {case.seconds:.0f} s"
        else:
            case.grown, case.grown_there = (b - a for a, b in zip(self.first, last, strict=True))
        if max(case.grown, case.grown_there) >= MOST:
            case.wrong = f"grew by {case.grown} kB, its peer by {case.grown_there} kB"
        return True


def source(point: str, folder: Path) -> Path:
    if point != "inline":
        return pressure("x86-64", folder, 40)
    path, text = folder / "calls.bc", folder / "calls.ll"
    text.write_text("\n".join([*map(leaf, range(LEAVES)), *map(caller, range(CALLERS))]))
    stock.run("llvm-as", text, "-o", path)
    return path


def leaf(number: int) -> str:
    """A function of two blocks more than its number."""
    ends = [f"b{block}:\n  ret i32 {block}" for block in range(number)]
    cases = " ".join(f"i32 {block}, label %b{block}" for block in range(number))
    head = f"define internal i32 @leaf{number}(i32 %x) {{\n  switch i32 %x, label %other [{cases}]"
    return "\n".join([head, *ends, "other:\n  ret i32 %x\n}"])


def caller(number: int) -> str:
    calls = [f"  %v{n + 1} = call i32 @leaf{n}(i32 %v{n})" for n in range(LEAVES)]
    return "\n".join([f"define i32 @caller{number}(i32 %v0) {{", *calls, f"  ret i32 %v{LEAVES}\n}}"])


def compiled(data: bytes, advisor: Advisor) -> bytes:
    """The bytes that a compilation gives."""
    module = Module.read(data, name="program.bc")
    if advisor.point == "inline":
        optimize(module, PIPELINE, [advisor])
        return module.bitcode()
    return emit(module, advisors=[advisor], relocation_model="pic")


def with_advisor(point: str, runner: RunnerLike, data: bytes, log: Path | None = None) -> bytes:
    """The same with an advisor of its own."""
    with passpilot.advisor(point, runner, log=str(log) if log else None) as advisor:
        return compiled(data, advisor)


def decided(data: bytes, folder: Path) -> str:
    """A decision file with the answers of the policy."""
    asked: Counter[tuple[str, str]] = Counter()
    answers: dict[CallKey, bool] = {}

    def note(obs: Observation) -> object:
        names = obs.site.caller.name, obs.site.callee.name  # type: ignore[attr-defined]
        asked[names] += 1
        answers[CallKey(*names, asked[names])] = yes = obs[READS["inline"]].item() < 4
        return yes

    with_advisor("inline", note, data)
    text = str(Module.read(data, name="program.bc"))
    unit = UnitDecisions(text.partition('source_filename = "')[2].partition('"')[0], answers)
    write_decisions(str(folder / "decisions"), [unit])
    return f"decisions:{folder / 'decisions'}"


def hosted(case: Case, data: bytes, folder: Path, meter: Meter, stack: ExitStack) -> None:
    """Compile in this process, until the decisions are made."""
    kinds = Kinds(case.point, folder, stack)
    expected = with_advisor(case.point, kinds.policy, data, folder / "log" if case.kind == "replay" else None)
    runner: RunnerLike
    if case.kind == "replay":
        runner = f"replay:{folder / 'log'}"
    elif case.kind == "default":  # LLVM asks its own advisor unless there is a runner
        runner = make_runner("default", find_point(case.point))
    elif case.kind in ONLY:
        runner = case.kind if case.kind.startswith("@") else decided(data, folder)
    else:
        runner, meter.peer = kinds.make(case.kind)
    if case.kind not in ALIKE:
        expected = b""
    lenient: OnError = "default" if case.kind == "const" else "fail"  # a constant column is often illegal
    make = partial(passpilot.advisor, case.point, runner, timeout=60, on_error=lenient)
    advisor = stack.enter_context(make())
    before = 0
    while not meter.is_done(case):
        if case.kind in AGAIN:
            with make() as advisor:
                code, before = compiled(data, advisor), 0
        else:
            code = compiled(data, advisor)
        count = advisor.stats.decisions
        if code != (expected := expected or code) or count == before:
            what = "gave other bytes" if count > before else "was not asked"
            case.wrong = f"{what} after {case.decisions} decisions"
            return
        case.decisions, before = case.decisions + count - before, count


def attached(case: Case, folder: Path, meter: Meter, stack: ExitStack) -> None:
    """Answer stock tools, which a script runs again and again until a file appears."""
    is_inline = case.point == "inline"
    tool, output, stop = "opt" if is_inline else "llc", folder / "output", folder / "stop"
    program = source(case.point, folder)
    expected = folder / "expected"
    policy = Kinds(case.point, folder, stack).policy
    if case.point != "evict":  # where LLVM's own limit of evictions is another one
        expected.write_bytes(with_advisor(case.point, policy, program.read_bytes()))
    script = folder / tool
    compare = f"{{ [ -e {expected} ] || cp {output} {expected}; }} && cmp {output} {expected}"
    script.write_text(
        f'#!/bin/sh\nuntil [ -e {stop} ]; do {bindir() / tool} "$@" && {compare} || exit; done\n'
    )
    script.chmod(0o700)
    flags = [f"-passes={IN_STOCK}"] if is_inline else ["-O2", "-filetype=obj", "-relocation-model=pic"]
    answers = Answers(case.point, policy, timeout=60)
    stack.callback(answers.close)

    def watch() -> None:
        while not meter.is_done(case) and not stop.exists():
            time.sleep(0.05)
            case.decisions = answers.decisions
        stop.touch()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        if code := attach([str(script), *flags, str(program), "-o", str(output)], [answers], 60):
            case.wrong = f"exit code {code}"
    finally:
        stop.touch()
        thread.join()


def judge(case: Case, wanted: int, most: float) -> Case:
    """Do one case, in a process of its own."""
    warnings.simplefilter("ignore")  # of decisions that fell back
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, meter = Path(name), Meter(wanted, most)
        try:
            if case.kind == "attach":
                attached(case, folder, meter, stack)
            else:
                hosted(case, source(case.point, folder).read_bytes(), folder, meter, stack)
        except (Error, AssertionError, OSError) as error:
            case.wrong = f"{type(error).__name__}: {error}"[-400:]
    return case


def judged(case: Case, wanted: int, most: float) -> Case:
    """The same from outside."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        try:
            return pool.submit(judge, case, wanted, most).result()
        except BrokenProcessPool as error:
            case.wrong = str(error)
            return case


def known(file: Path, results: Path) -> dict[tuple[str, str], Case]:
    """The cases that are done, here or on another machine."""
    before = json.loads(results.read_text()) if results.exists() else []
    lines = file.read_text().splitlines() if file.exists() else []
    cases = [Case(**raw) for raw in (*before, *map(json.loads, lines))]
    return {case.key: case for case in cases}


def wanted_cases(
    kinds: Sequence[str], points: Sequence[str], done: Mapping[tuple[str, str], Case], wanted: int
) -> Iterator[Case]:
    """The cases that are not done, were wrong, or were with fewer decisions."""
    for point in points:
        for kind in kinds:
            case = Case(kind, point)
            before = done.get(case.key, case)
            decisions = 0 if before.wrong else before.decisions
            if decisions < wanted and ONLY.get(kind, point) == point:
                yield case


def judge_all(cases: Iterable[Case], file: Path, wanted: int, most: float) -> None:
    """Do cases, and add them to a file; Ctrl-C ends them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        for case in cases:
            row = asdict(judged(case, wanted, most))
            with file.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
            print(*row.values(), flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)


@command
def main(
    *,
    kinds: str = ";".join(KINDS),
    points: str = ",".join(READS),
    decisions: int = 1_000_000,
    most: float = 1500.0,
    file: str = str(ROOT / "build/soak-runners.jsonl"),
    results: str = str(RESULTS / "soak-runners.json"),
    show: bool = False,
) -> None:
    lines, record = Path(file), Path(results)
    if not show:
        left = wanted_cases(kinds.split(";"), points.split(","), known(lines, record), decisions)
        judge_all(left, lines, decisions, most)
    rows = [asdict(case) for case in known(lines, record).values()]
    record.write_text(json.dumps(rows, indent=1) + "\n")
    show_rows("cases", list(rows[0]), [list(row.values()) for row in rows])
    sys.exit(any(row["wrong"] for row in rows))
