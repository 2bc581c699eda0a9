# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.evaluate`: compiles, links and runs a corpus with policies, whose texts are read here."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Literal

from passpilot.cli.cc.best_of import POLICY, VARIANTS, variants_of
from passpilot.cli.cc.options import FLAGS, OPTIONS, Options
from passpilot.features.catalogue import HOOKED
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.failures import did_you_mean, shown
from passpilot.plugin.numbers import whole_number
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy.bundle import find_bundle
from passpilot.runners.spec import check_runner_spec
from passpilot.training.corpus.layout import Corpus
from passpilot.training.evaluation.competitors import BASELINES, Competitor, CompileWay, baseline, check_names
from passpilot.training.evaluation.evaluate import Evaluation
from passpilot.training.evaluation.program import EvaluationPlan
from passpilot.training.evaluation.results import EvaluationResult, ProgramResult
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.timing.instructions import check_counter

FILES: Final = ("PASSPILOT_DECISIONS", "PASSPILOT_PROFILE")
PROGRAM: Final = "{program}"
"""Stands for the name of a program."""

_POINT: Final = re.compile(r"([a-z][\w-]*)=(.+)", re.DOTALL)


def evaluate(
    corpus: str | os.PathLike[str],
    contenders: Sequence[str] = (),
    *,
    baselines: Sequence[str] = BASELINES,
    program: Sequence[str] = (),
    root: str = "",
    output: str = "",
    resume: bool = False,
    jobs: int = 0,
    timeout: float = 300.0,
    run_timeout: float = 60.0,
    rounds: int = 5,
    no_runs: bool = False,
    runs: Literal["time", "instructions"] = "time",
    lto: bool = False,
    no_logs: bool = False,
    no_cache: bool = False,
    step: Callable[[int, int], object] = lambda _count, _total: None,
    done: Callable[[ProgramResult], object] = lambda _result: None,
) -> EvaluationResult:
    """Compile, link and run the programs of a corpus with contenders and baselines.

    The keywords are the options of `passpilot eval`. The result is a table of flat rows for
    ``pandas.DataFrame``. What fails is in its column ``errors``; the rest goes on.

    Args:
        corpus: its folder. Its programs run on this machine.
        contenders: texts such as ``onnx:m.onnx``, ``decisions:{program}.decisions``, ``best-of:4``, ``@oz``.
        baselines: levels such as ``-Oz`` or ``-Oz+outline``; the first is the reference.
        program: the names of the programs, if not all.
        root: links may read files below this folder, not only of the corpus.
        output: the file of the result as JSON, which is written after every program.
        resume: take finished programs from `output`.
        jobs: compilations at once; 0 for as many as processors.
        timeout: the seconds that a compilation may take.
        run_timeout: the seconds that a run may take.
        rounds: how often programs run for their time; 0 runs them once, for their output.
        no_runs: run no programs.
        runs: ``instructions`` counts those that the runs execute by valgrind, beside the processor time.
        lto: compile all sides with ``-flto``; the link optimizes and applies the policy.
        no_logs: count no decisions.
        no_cache: compile the baselines again.
        step: called with the steps so far and their number after each compilation, link and run.
        done: called with the result of each program.

    Raises:
        Error: an argument is wrong, or the corpus or `output` cannot be used.
    """
    _check_options(runs, output, no_runs=no_runs, resume=resume)
    levels = [*map(_baseline, baselines)]
    check_names(competitors := [*levels, *map(competitor, contenders)])
    cache = CompileCache("") if no_cache else CompileCache.of_user()
    more = not no_logs and not lto, run_timeout, timeout, runs == "instructions", lto
    plan = EvaluationPlan(competitors, jobs, rounds, not no_runs, *more)
    evaluation = Evaluation(plan, Corpus.read(corpus, root), program, cache)
    _check_ways(competitors, evaluation.programs[0].name, lto=lto)
    result = evaluation.new_result([level.name for level in levels])
    evaluation.run(result, step, done, output, resume=resume)
    return result


def _check_options(runs: str, output: str, *, no_runs: bool, resume: bool) -> None:
    if resume and not output:
        raise UsageError("eval: --resume has no effect without -o RESULT.json")
    if no_runs and runs != "time":
        raise UsageError(f"eval: --runs={runs} has no effect with --no-runs")
    if runs != "time":
        check_counter()


def _check_ways(competitors: Sequence[Competitor], program: str, *, lto: bool) -> None:
    for competitor in competitors if lto else ():
        ways: Sequence[CompileWay] = ()
        with suppress(InputError):  # a decision file that is missing is an error of its program
            ways = competitor.ways(program)
        if len(ways) > 1:
            got = f"got {competitor.name!r}, which keeps the smallest object of several"
            raise UsageError(f"eval: --lto: expected policies that compile once, {got}")


def _baseline(name: str) -> Competitor:
    if (known := baseline(name.strip())) is None:
        expected = "levels such as -Oz or -Oz+outline"
        raise UsageError(f"eval: --baselines: expected {expected}, got {name.strip()!r}")
    return known


def competitor(text: str) -> Competitor:
    """The competitor that a policy of the command line stands for."""
    if known := baseline(text):
        return known
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"eval: --contender: expected closed quotes, got {text!r}: {error}") from error
    level = words.pop(0) if words and (reference := baseline(words[0])) else ""
    ways = reference.ways("") if level and reference else [CompileWay()]
    if not words:
        raise UsageError(f"eval: --contender: expected a runner, a decision file or a level, got {text!r}")
    if words[0].startswith("best-of:"):
        best = _best_of(words, ways[0])
        return Competitor(shown(text), "policy", lambda _: best)
    flags = [flag for word in words for flag in _flags(word)]
    if PROGRAM not in text:
        same = _ways(flags, ways[0])
        return Competitor(shown(text), "policy", lambda _: same, _points(flags))
    return Competitor(
        shown(text),
        "policy",
        lambda program: _ways([flag.replace(PROGRAM, program) for flag in flags], ways[0]),
        _points(flags),
    )


def _flags(word: str) -> Iterator[str]:
    if word.startswith("-"):
        yield word
    elif word.startswith("@"):
        yield f"--policy={word}"
    elif word.startswith("decisions:"):
        yield f"--decisions={word.removeprefix('decisions:')}"
    elif found := _POINT.fullmatch(word):
        yield f"--{word}" if found[1] in HOOKED else f"--advise={word}"
    else:
        yield f"--inline={word}"


def _points(flags: Sequence[str]) -> tuple[str, ...]:
    found = []
    for flag in flags:
        name, _, value = flag.lstrip("-").partition("=")
        if name in HOOKED:
            found.append(name)
        elif name == "decisions":
            found.append("inline")
        elif name == "policy":
            found += [point for point in find_bundle(value).points if point in HOOKED]
        elif name == "advise":
            found.append(value.partition("=")[0])
    return tuple(dict.fromkeys(found))


def _ways(flags: Sequence[str], base: CompileWay) -> list[CompileWay]:
    """The way that options of `passpilot cc` stand for; several for a policy with tries."""
    options = Options("eval", flags, {})
    if options.rest:
        hint = did_you_mean(options.rest[0].partition("=")[0], [f"--{name}" for name in (*OPTIONS, *FLAGS)])
        raise UsageError(
            f"eval: --contender: expected options of passpilot cc, got {options.rest[0]!r}{hint}"
        )
    options.check_points()
    if options.value("llvm") not in ("", str(MAJOR)):
        raise UsageError(f"eval: --contender: expected LLVM {MAJOR}, got --llvm={options.value('llvm')}")
    for point in () if options.value("load") else HOOKED:
        if runner := options.value(point):
            check_runner_spec(runner)
    environment = options.environment()
    for name in set(FILES) & environment.keys():  # a link runs elsewhere
        environment[name] = os.path.abspath(environment[name])
    tries = [{**environment, POLICY: policy} for policy in variants_of(options) if policy]
    return [CompileWay(base.level, base.flags, values, plugin=True) for values in tries or [environment]]


def _best_of(words: Sequence[str], base: CompileWay) -> list[CompileWay]:
    count = words[0].removeprefix("best-of:")
    if len(words) > 1 or not whole_number(count):
        raise UsageError(f"eval: --contender: expected best-of:N, got {' '.join(words)!r}")
    if int(count) > len(VARIANTS):
        raise UsageError(f"eval: --contender: expected best-of:N with N up to {len(VARIANTS)}, got {count}")
    return [
        CompileWay(base.level, base.flags, {POLICY: policy} if policy else {}, plugin=bool(policy))
        for policy in VARIANTS[: int(count)]
    ]
