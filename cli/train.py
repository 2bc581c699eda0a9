# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot train`: from decisions to a model that a compiler can ask, by `passpilot.training`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from passpilot import training
from passpilot.cli.outputs import check_made, new_folder, prepare, quiet_pipe, say
from passpilot.cli.parser import SECONDS, Parser, count_of
from passpilot.cli.progress import described_progress
from passpilot.plugin.errors import InputError, UsageError, restated
from passpilot.plugin.extras import needs
from passpilot.plugin.files import check_new
from passpilot.training.rewards import REWARDS

if TYPE_CHECKING:
    from passpilot.training.learning.training import Training

UNFINISHED: Final = "unfinished.json"
"""Is in a folder of `train data` that the same call may go on with."""

EXAMPLE: Final = """\
example:
  passpilot train data --corpus=corpus --split=split.toml --teacher='decisions:{program}.decisions' -o data
  passpilot train imitate imitate.toml -o model
  passpilot opt in.bc -passes='default<Oz>' --inline=onnx:model/model.onnx -o out.bc
"""

EXAMPLES: Final = {
    "data": """\
examples:
  passpilot train data a.bc in.bc --teacher=default --teacher=python:policy.py:decide -o taught
  passpilot train data --corpus=corpus --flips=4 --budget=60 -o flips
""",
    "imitate": """\
example:
  printf 'policy = "trees"\\n[data]\\ntrain = ["data/train"]\\n' > trees.toml
  passpilot train imitate trees.toml -o clone
""",
    "evolve": """\
example:
  printf 'modules = ["*.bc"]\\niterations = 2\\n' > evolve.toml
  passpilot train evolve evolve.toml -o evolved
""",
    "ppo": """\
example:
  printf 'modules = ["in.bc"]\\nsteps = 64\\n' > ppo.toml
  passpilot train ppo ppo.toml -o agent
""",
    "dqn": """\
example:
  printf 'modules = ["in.bc"]\\nsteps = 64\\n' > dqn.toml
  passpilot train dqn dqn.toml -o agent
""",
    "native-size": """\
example:
  passpilot train native-size modules/*.bc --dimension=4 -o sizes
""",
}

MODEL, CHECKPOINT = "model.onnx", "checkpoint.npz"
"""Files of a folder that has a model, or the beginning of one."""

OLD_NAMES: Final = {"deadline": "timeout", "seconds": "budget"}

MOST_PROBLEMS: Final = 10
"""Modules that are left out with a line of their own."""

AGENT: Final = (
    'Let an agent learn from compilations by {}, of stable-baselines3. It needs\npip install "passpilot[rl]".'
)

COMMANDS: Final = {
    "data": (
        "gather_decisions",
        "gather decisions in shards",
        "Compile modules with teachers and keep all decisions in Parquet files, one for each program.\n"
        "With several teachers, a module teaches the decisions of the one that makes it smallest.",
    ),
    "imitate": (
        "imitate",
        "learn the decisions in shards",
        "Learn the decisions in shards, and write an ONNX model, with its card, its\n"
        "curve and checkpoints. The settings say where the shards are and what is learned.",
    ),
    "evolve": (
        "evolve",
        "improve a network on the reward itself",
        "Evolve a network by trying it in compilations: its reward is what it gains over the\n"
        "compiler's own decisions. It begins with these decisions, or with a network that was trained.",
    ),
    "ppo": ("ppo", "let an agent learn by PPO with masks", AGENT.format("PPO with masks")),
    "dqn": ("dqn", "let an agent learn by DQN", AGENT.format("DQN")),
    "native-size": (
        "fit_native_size",
        "learn how large the machine code of a function is",
        "Learn the bytes of machine code of functions from their IR: an IR2Vec vocabulary, and an ONNX\n"
        "model that makes bytes of embeddings.",
    ),
}
"""The commands: their functions in `passpilot.training`, their lines of help, and their descriptions."""


def main(argv: Sequence[str]) -> int:
    prepare()
    values = make_parser().values(argv)
    name = str(values.pop("command"))
    values.pop("traceback")
    if "at" in values:
        values["at"] = _places(values["at"])  # type: ignore[arg-type]
    data = name in ("data", "native-size")
    who, output, force = f"train {name}", str(values["output"]), bool(values.pop("force"))
    if name != "data" and not values.get("resume"):
        resume = "" if data else "--resume"
        check_new(f"{who}: -o", output, folder=True)
        check_made(who, output, force=force, marks=(MODEL, CHECKPOINT), resume=resume)
    what = {"imitate": "learning", "native-size": "compiling"}.get(name, "gathering decisions")
    with ExitStack() as stack:
        stack.enter_context(quiet_pipe())
        if name == "data" and (force or not os.path.exists(os.path.join(output, UNFINISHED))):
            stack.enter_context(new_folder(who, output, force=force, marks=("data.json", UNFINISHED)))
        step = stack.enter_context(described_progress(what))
        with needs("train", who):
            function = getattr(training, COMMANDS[name][0])

        def show(run: Training, _row: Mapping[str, float]) -> None:
            step(run.done, run.total, run.line)

        command = shlex.join(["passpilot", "train", *argv])
        with _blamed(who, output, "" if data else str(values["settings"])):
            result = function(**values, callbacks=[step if data else show], command=command)
    with quiet_pipe():
        if data:
            say(*(f"warning: left out: {problem}" for problem in result.problems[:MOST_PROBLEMS]))
        if data and (more := len(result.problems) - MOST_PROBLEMS) > 0:
            names = f"; {values['output']}/data.json names them all" if name == "data" else ""
            say(f"warning: left out: {more} more modules{names}")
        print(result)
    return 0


@contextmanager
def _blamed(who: str, output: str, settings: str) -> Iterator[None]:
    """Name the settings or the output at the start of an error; an interrupt says how to go on."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(settings):
            raise
        is_output = str(error).startswith((f"{output}/", f"{output}: "))
        where = f"{who}: -o" if is_output else settings
        raise restated(error, f"{where}: {error}") from error
    except KeyboardInterrupt:
        if settings:
            say(f"{who}: --resume goes on from the last checkpoint in {output}, if there is one")
        raise


def make_parser() -> Parser:
    parser = Parser("passpilot train", description="Train a model, from decisions to ONNX.", epilog=EXAMPLE)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, (_, line, text) in COMMANDS.items():
        command: Parser = commands.add_parser(
            name, help=line, description=text, epilog=EXAMPLES[name], old_names=OLD_NAMES
        )
        if name in ("data", "native-size"):
            _add_modules(command, name)
        else:
            command.add_argument(
                "settings", metavar="SETTINGS.toml", help="its paths are relative to its folder"
            )
            command.option(
                "o", dest="output", required=True, metavar="DIR", help="the output: a folder for the model"
            )
            command.shared("resume", "from the checkpoint in DIR, if there is one")
        if name in ("data", "native-size", "evolve"):
            command.shared("engine", choices=("local", "ray"), default="local")
            command.shared("address", default="")
        if name == "evolve":
            command.shared("study", default="")
            command.shared("no-cache", "and keep nothing there")
        command.shared("force")
        command.shared("load")
        if name not in ("ppo", "dqn"):
            command.shared("jobs", type=count_of("jobs"), default=0)
        command.traceback_option()
    return parser


def _add_modules(parser: Parser, name: str) -> None:
    add = parser.option
    logs = ", or logs (.log)" if name == "data" else ""
    parser.add_argument(
        "inputs", nargs="*", metavar="IN", help=f"modules (.ll, .bc) that are not optimized{logs}"
    )
    what = "shards" if name == "data" else "model"
    add("o", dest="output", required=True, metavar="DIR", help=f"the output: a folder for the {what}")
    parser.shared("corpus", "compile them at their own levels", default="")
    parser.shared("program")
    parser.shared("split", "by name; other programs are left out", default="")
    parser.shared("passes", "the module's level, else default<Oz>", default="")
    parser.shared("timeout", "for one module (600)", type=SECONDS, default=600.0)
    if name == "native-size":
        add("dimension", type=count_of("dimension"), default=32, metavar="N", help="of the vocabulary (32)")
        add("trees", type=count_of("trees"), default=200, metavar="N", help="of the model behind it (200)")
        parser.shared("seed", "of training (0)", type=int, default=0)
        return
    add("part", default="train", metavar="PART", help="train, validation or test, without --split (train)")
    parser.shared("point", "inline unless given", default="inline")
    teacher = "a runner; {program} stands for the program's name; may be repeated (default)"
    add("teacher", action="append", default=[], metavar="SPEC", help=teacher)
    flips = "flip the teacher's inlining decisions in N compilations of every program (--corpus)"
    add("flips", type=count_of("flips"), default=0, metavar="N", help=flips)
    parser.shared("lto", "with --flips, the decisions of a program's full link-time optimization")
    parser.shared("budget", "with --flips, for a program", type=SECONDS, default=1e6)
    parser.shared("root", "with --flips", default="")
    reward = f"{', '.join(REWARDS)} (native-size); of several teachers, the one with the least is followed"
    parser.shared("reward", reward, default="native-size")
    at = "run a pipeline at one of LLVM's extension points; may be repeated"
    add("at", action="append", default=[], metavar="POINT=PIPELINE", help=at)


def _places(texts: Sequence[str]) -> dict[str, str]:
    places: dict[str, str] = {}
    for text in texts:
        place, equals, pipeline = text.partition("=")
        if not equals or not place or not pipeline:
            raise UsageError(f"train data: --at: expected POINT=PIPELINE, got {text!r}")
        places[place] = pipeline
    return places
