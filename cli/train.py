# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot train`: from decisions to a policy that a compiler can ask."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, count_of, record
from passpilot.cli.progress import described_progress, progress
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.extras import needs
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.load import load_file
from passpilot.training.rewards import REWARDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from passpilot.training.data.collection import Collected
    from passpilot.training.machines.local import Machines

    Opened = Callable[[], AbstractContextManager[Machines]]

EXAMPLES: Final = """\
examples:
  passpilot train data --corpus=corpus --split=split.toml --teacher='decisions:{program}.decisions' -o data
  passpilot train imitate imitate.toml -o model
  passpilot opt in.bc -passes='default<Oz>' --inline=onnx:model/model.onnx -o out.bc
"""

MOST_PROBLEMS: Final = 10
"""Modules that are left out with a line of their own."""


class DataOptions(NamedTuple):
    """The command line of `passpilot train data`."""

    inputs: tuple[str, ...]
    corpus: str
    program: tuple[str, ...]
    split: str
    part: str
    point: str
    teacher: tuple[str, ...]
    flips: int
    seconds: float
    reward: str
    passes: str
    at: tuple[str, ...]
    load: tuple[str, ...]
    output: str
    deadline: float


class NativeSizeOptions(NamedTuple):
    """The command line of `passpilot train native-size`."""

    inputs: tuple[str, ...]
    corpus: str
    program: tuple[str, ...]
    split: str
    passes: str
    dimension: int
    trees: int
    seed: int
    output: str
    deadline: float


class TrainOptions(NamedTuple):
    """The command line of a trainer."""

    settings: str
    output: str
    load: tuple[str, ...]
    resume: bool
    jobs: int


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code.

    Raises:
        UsageError: the command line is wrong.
        Error: a file is wrong or cannot be written, or nothing can be learned.
    """
    prepare()
    values = make_parser().values(argv)
    command = shlex.join(["passpilot", "train", *argv])
    with quiet_pipe():
        for file in cast("Sequence[str]", values["load"]):
            load_file(file)
        _run(str(values["command"]), values, command)
    return 0


def _run(name: str, values: Mapping[str, object], command: str) -> None:
    if name == "imitate":
        _imitate(record(TrainOptions, values), command)
    elif name in ("ppo", "dqn"):
        _reinforce(name, record(TrainOptions, values), command)
    else:
        from passpilot.training.machines.local import machines

        jobs, load = cast("int", values["jobs"]), cast("Sequence[str]", values["load"])
        engine, address = str(values["engine"]), str(values["address"])
        opened = partial(machines, engine, address, jobs, load)  # a cluster starts when it has work
        if name == "data":
            _gather(record(DataOptions, values), opened, command)
        elif name == "native-size":
            _native_size(record(NativeSizeOptions, values), opened, command)
        else:
            _evolve(record(TrainOptions, values), opened, command)


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        "passpilot train", description="Train a policy, from decisions to an ONNX model.", epilog=EXAMPLES
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, line: str, text: str) -> Parser:
        made: Parser = commands.add_parser(name, help=line, description=text, epilog=EXAMPLES)
        return made

    _add_data(
        command(
            "data",
            "gather decisions in shards",
            "Compile modules with teachers and keep all decisions in Parquet files, one for each program.\n"
            "With several teachers, a module teaches the decisions of the one that makes it smallest.",
        )
    )
    _add_trainer(
        command(
            "imitate",
            "learn the decisions in shards",
            "Learn the decisions in shards, and write the policy as an ONNX model, with its card, its\n"
            "curve and checkpoints. The settings say where the shards are and what is learned.",
        )
    )
    evolve = command(
        "evolve",
        "improve a network on the reward itself",
        "Evolve a network by trying it in compilations: its reward is what it gains over the\n"
        "compiler's own decisions. It begins with these decisions, or with a network that was trained.",
    )
    _add_trainer(evolve)
    _add_machines(evolve)
    for name, agent in (("ppo", "PPO with masks"), ("dqn", "DQN")):
        _add_trainer(
            command(
                name,
                f"let an agent learn by {agent}",
                f"Let an agent learn from compilations by {agent}, of stable-baselines3. It needs\n"
                'pip install "passpilot[rl]".',
            )
        )
    _add_native_size(
        command(
            "native-size",
            "learn how large the machine code of a function is",
            "Learn the bytes of machine code of functions from their IR: an IR2Vec vocabulary, and an ONNX\n"
            "model that makes bytes of embeddings.",
        )
    )
    return parser


def _add_native_size(parser: Parser) -> None:
    add = parser.option
    parser.add_argument("inputs", nargs="*", metavar="IN", help="modules (.ll, .bc) that are not optimized")
    add("o", dest="output", required=True, metavar="DIR", help="the folder of the model")
    _add_modules(parser)
    add("dimension", type=count_of("dimension"), default=32, metavar="N", help="of the vocabulary (32)")
    add("trees", type=count_of("trees"), default=200, metavar="N", help="of the model behind it (200)")
    add("seed", type=int, default=0, metavar="N", help="of training (0)")
    _add_machines(parser)
    _add_common(parser)


def _add_modules(parser: Parser) -> None:
    add = parser.option
    add("corpus", default="", metavar="DIR", help="compile the programs of a corpus, at their own levels")
    add("program", action="append", default=[], metavar="NAME", help="only this program; may be repeated")
    add("split", default="", metavar="FILE.toml", help="parts of programs by name; others are left out")
    add(
        "passes",
        default="",
        metavar="PIPELINE",
        help="textual pipeline (the module's level, else default<Oz>)",
    )
    add("deadline", type=_seconds, default=600.0, metavar="SECONDS", help="for one module (600)")


def _add_data(parser: Parser) -> None:
    add = parser.option
    parser.add_argument(
        "inputs", nargs="*", metavar="IN", help="modules (.ll, .bc) that are not optimized, or logs (.log)"
    )
    add("o", dest="output", required=True, metavar="DIR", help="the folder of the shards")
    _add_modules(parser)
    add("part", default="train", metavar="PART", help="train, validation or test, without --split (train)")
    add("point", default="inline", metavar="POINT", help="the decision point (inline)")
    teacher = "a runner; {program} stands for the program's name; may be repeated (default)"
    add("teacher", action="append", default=[], metavar="SPEC", help=teacher)
    flips = "flip the teacher's inlining decisions in N compilations of every program (--corpus)"
    add("flips", type=count_of("flips"), default=0, metavar="N", help=flips)
    add("seconds", type=_seconds, default=1e6, metavar="S", help="with --flips, the time for a program")
    reward = f"what the best teacher makes smallest: {', '.join(REWARDS)} (native-size)"
    add("reward", default="native-size", metavar="REWARD", help=reward)
    at = "another pipeline, such as vectorizer-start=advised-unroll; may be repeated"
    add("at", action="append", default=[], metavar="PLACE=PIPELINE", help=at)
    _add_machines(parser)
    _add_common(parser)


def _add_machines(parser: Parser) -> None:
    who = "who compiles: this machine, or a Ray cluster (local)"
    parser.option("engine", choices=("local", "ray"), default="local", help=who)
    where = "the Ray cluster, or auto (one on this machine)"
    parser.option("address", default="", metavar="HOST:PORT", help=where)


def _add_trainer(parser: Parser) -> None:
    parser.add_argument("settings", metavar="SETTINGS.toml", help="its paths are relative to its folder")
    parser.option("o", dest="output", required=True, metavar="DIR", help="the folder of the policy")
    parser.option("resume", action="store_true", help="go on from the checkpoint in DIR, if there is one")
    _add_common(parser)


def _add_common(parser: Parser) -> None:
    load = "run this file first; it registers features and passes"
    parser.option("load", action="append", default=[], metavar="FILE.py", help=load)
    jobs = "processes or threads at once (as processors)"
    parser.option("jobs", "j", type=count_of("jobs"), default=0, metavar="N", help=jobs)
    parser.traceback_option()


def _seconds(text: str) -> float:
    import argparse

    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e6:
        msg = f"expected seconds, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return value


def _jobs(given: int) -> int:
    return given or len(os.sched_getaffinity(0))


# --- data --------------------------------------------------------------------------------


def _gather(options: DataOptions, opened: Opened, command: str) -> None:
    with needs("train", "train data"):
        from passpilot.training.data.collection import (
            DESCRIPTION,
            collect_logs,
            part_named,
            write_description,
        )
    part_named(options.part)
    if bool(options.inputs) == bool(options.corpus):
        raise UsageError("train data: expected modules, logs or --corpus=DIR, got none of them, or two")
    logs = [path for path in options.inputs if path.endswith(".log")]
    if logs and len(logs) < len(options.inputs):
        raise UsageError("train data: expected logs or modules, got both")
    if os.path.exists(options.output) and os.listdir(options.output):
        raise InputError(f"{options.output}: expected a new folder, got one with files")
    if options.flips and (len(options.teacher) > 1 or not options.corpus):
        raise UsageError("train data: expected --flips with --corpus and at most one --teacher")
    teachers = options.teacher or ("default",)
    collected = (
        collect_logs(logs, options.point, options.output, options.part)
        if logs
        else _flipped(options, opened)
        if options.flips
        else _compiled(options, teachers, opened)
    )
    write_description(options.output, collected, command, () if logs else teachers)
    for problem in collected.problems[:MOST_PROBLEMS]:
        _say(f"warning: left out: {problem}")
    if (more := len(collected.problems) - MOST_PROBLEMS) > 0:
        _say(f"warning: left out: {more} more modules; {options.output}/{DESCRIPTION} names them all")
    for part, total in collected.sums().items():
        programs = sum(each.part == part for each in collected.programs.values())
        print(
            f"{part:10} {programs} programs, {total.modules} modules, {total.decisions:,} decisions, "
            f"{total.changed:,} not the compiler's own"
        )


def _compiled(options: DataOptions, teachers: Sequence[str], opened: Opened) -> Collected:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.partition import SplitFile
    from passpilot.training.data.collection import collect, corpus_modules, loose_modules
    from passpilot.training.data.gather import Teaching

    if options.corpus:
        modules = corpus_modules(Corpus.read(options.corpus), options.program, options.passes)
    elif options.program:
        raise UsageError("train data: expected --program with --corpus, got it with modules")
    else:
        modules = loose_modules(options.inputs, options.passes)
    split = SplitFile.read(options.split) if options.split else None
    places = _places(options.at)
    with opened() as where, progress("gathering decisions", len(modules)) as step:
        teaching = Teaching(
            options.point,
            tuple(teachers),
            places,
            options.reward,
            deadline=options.deadline,
            machines=where,
        )
        return collect(modules, teaching, options.output, split, "" if split else options.part, step)


def _flipped(options: DataOptions, opened: Opened) -> Collected:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.partition import SplitFile, programs_of
    from passpilot.training.data.collection import collect_flips
    from passpilot.training.data.flips import FlipSettings

    corpus = Corpus.read(options.corpus)
    split = SplitFile.read(options.split) if options.split else None
    teacher = options.teacher[0] if options.teacher else "default"
    part = "" if split else options.part
    programs = options.program or programs_of(corpus)
    with opened() as where, progress("flipping decisions", len(programs)) as step:
        flips = FlipSettings(
            options.flips, options.seconds, teacher=teacher, deadline=options.deadline, machines=where
        )
        return collect_flips(corpus, options.program, flips, options.output, split, part, step)


def _places(texts: Sequence[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for text in texts:
        place, equals, pipeline = text.partition("=")
        if not equals or not place or not pipeline:
            raise UsageError(f"train data: --at: expected PLACE=PIPELINE, got {text!r}")
        made[place] = pipeline
    return made


def _native_size(options: NativeSizeOptions, opened: Opened, command: str) -> None:
    with needs("train", "train native-size"):
        from passpilot.training.native_size.fit import FitSettings
        from passpilot.training.native_size.training import TRAIN, NativeSizeTraining, accuracy_text
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.partition import SplitFile
    from passpilot.training.data.collection import corpus_modules, loose_modules

    if bool(options.inputs) == bool(options.corpus):
        raise UsageError("train native-size: expected modules or --corpus=DIR, got none of them, or both")
    modules = (
        corpus_modules(Corpus.read(options.corpus), options.program, options.passes)
        if options.corpus
        else loose_modules(options.inputs, options.passes)
    )
    parts = {each.program: TRAIN for each in modules}
    if options.split:
        split = SplitFile.read(options.split)
        parts = {name: part for part, names in split.parts.items() for name in names if name in parts}
    settings = FitSettings(options.dimension, options.trees, seed=options.seed)
    compiled = sum(each.program in parts for each in modules)
    with opened() as where, progress("compiling", compiled) as step:
        training = NativeSizeTraining(modules, parts, settings, where, options.deadline)
        made = training.run(options.output, command, step)
    _warn(training.problems)
    for part, each in made.items():
        print(f"{part:10} {accuracy_text(each)}")


def _warn(problems: Sequence[str]) -> None:
    for problem in problems[:MOST_PROBLEMS]:
        _say(f"warning: left out: {problem}")
    if (more := len(problems) - MOST_PROBLEMS) > 0:
        _say(f"warning: left out: {more} more modules")


# --- trainers --------------------------------------------------------------------------------


def _imitate(options: TrainOptions, command: str) -> None:
    with needs("train", "train imitate"):
        from passpilot.training.learning.imitate import Imitation, rebased
    from passpilot.plugin.files import write_file
    from passpilot.training.learning.card import CARD, card
    from passpilot.training.learning.settings import ImitateSettings
    from passpilot.training.learning.toml_settings import read_settings

    settings = read_settings(options.settings, ImitateSettings)
    moved = rebased(settings, os.path.dirname(os.path.abspath(options.settings)))
    training = Imitation(moved, options.output, jobs=_jobs(options.jobs), resume=options.resume)
    with described_progress("learning", training.rounds) as step:
        made = training.run(step)
    write_file(os.path.join(options.output, CARD), card(made, moved, command).encode())
    print(f"{options.output}/model.onnx: {made.description}")
    for part, each in made.parts.items():
        print(f"{part:10} {each.text()}")


def _evolve(options: TrainOptions, opened: Opened, command: str) -> None:
    with needs("train", "train evolve"):
        from passpilot.training.by_reward.evolve import EvolutionRun, EvolveSettings
    from passpilot.plugin.files import write_file
    from passpilot.training.learning.card import CARD, evolved_card
    from passpilot.training.learning.toml_settings import read_settings

    settings = read_settings(options.settings, EvolveSettings)
    base = os.path.dirname(os.path.abspath(options.settings))
    with opened() as where, described_progress("gathering decisions", settings.iterations) as step:
        run = EvolutionRun(settings, base, options.output, machines=where, resume=options.resume)
        made = run.run(step)
    write_file(os.path.join(options.output, CARD), evolved_card(made, settings, command).encode())
    print(f"{options.output}/model.onnx: {made.description}")
    for part, value in made.rewards.items():
        print(f"{part:10} {settings.reward} {value:+.3%} against LLVM, {made.start[part]:+.3%} at the start")


def _reinforce(method: str, options: TrainOptions, command: str) -> None:
    with needs("train", f"train {method}"), needs("rl", f"train {method}"):
        from passpilot.training.by_reward.reinforce import Reinforcement
    from passpilot.plugin.files import write_file
    from passpilot.training.by_reward.reinforce_settings import ReinforceSettings
    from passpilot.training.learning.card import CARD, reinforced_card
    from passpilot.training.learning.toml_settings import read_settings

    settings = read_settings(options.settings, ReinforceSettings)
    base = os.path.dirname(os.path.abspath(options.settings))
    with described_progress("gathering decisions", settings.steps) as step:
        made = Reinforcement(method, settings, base, options.output, resume=options.resume).run(step)
    text = reinforced_card(made, method, settings, command)
    write_file(os.path.join(options.output, CARD), text.encode())
    print(f"{options.output}/model.onnx: {made.description}")
    for part, value in made.rewards.items():
        print(f"{part:10} {settings.reward} {value:+.3%} against LLVM")


def _say(text: str) -> None:
    print(f"passpilot: {for_terminal(text)}\n", end="", file=sys.stderr)
