# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The readers of bytes that others wrote, the seeds of their inputs, and how these are mutated.

A reader reads the bytes, or refuses them with an error of passpilot. Modules are not here: LLVM's readers are
not made for hostile input, as SECURITY.md says.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from google.protobuf.message import DecodeError

from passpilot.cli.log import main as log
from passpilot.features.columns import load_model
from passpilot.features.domain import Number
from passpilot.features.llvm.ir2vec import Vocabulary
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec, layout
from passpilot.passes.mlir.schedule.plan import read_plan
from passpilot.passes.report.table import read_report
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.runners.aot.graph import Choices, read_graph
from passpilot.runners.base import tensor_views
from passpilot.runners.foreign import mlgo
from passpilot.runners.policy.bundle import read_bundle
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.serdes import make_serdes
from passpilot.runners.serving.grpc_server import _read_hello
from passpilot.runners.spec import make_runner, parse_runner_spec
from passpilot.training import compiler_pb2
from passpilot.training.by_reward.settings import EvolveSettings
from passpilot.training.corpus.archive import read_members
from passpilot.training.corpus.compile_commands import read_commands
from passpilot.training.corpus.elf import code_hash
from passpilot.training.corpus.embedded import draft_params, read_embedded
from passpilot.training.corpus.layout import Corpus
from passpilot.training.corpus.partition import SplitFile
from passpilot.training.corpus.recorded.from_recording import draft_recording
from passpilot.training.corpus.recorded.response_files import gnu_words, windows_words
from passpilot.training.data.shards import DecisionShards
from passpilot.training.episode import CompilerClient
from passpilot.training.evaluation.results import EvaluationResult
from passpilot.training.evaluation.tables import markdown, table_text
from passpilot.training.evaluation.unwind_check import _ElfTable
from passpilot.training.file_sizes import SizeReport
from passpilot.training.growth.contents import Contents
from passpilot.training.learning.checkpoint import Checkpoint
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.settings import ImitateSettings
from passpilot.training.learning.toml_settings import read_settings
from passpilot.training.report.inputs import Report
from passpilot.training.rewards import code_bytes, function_symbols
from passpilot.training.tuning.decision_file import read_decisions
from tests.features.log.log_writer import inline_log
from tests.fuzz.studies import STUDIES
from tests.training.learning.examples import arranged

MODELS: Final = Path(__file__).parents[1] / "runners" / "models"
SPECS: Final = (TensorSpec("a", "int64", (1,)), TensorSpec("b", "float32", (3,)))
LIKELY: Final = (b"\\ud800", b"\\u001b]0;", b"\\u202e", b"NaN", b"-1", b"1e999", b"9" * 400, b"9" * 5000,
                 b"[" * 2000, b"{}", b"null", b"\xff\xfe", b"\x00", b'"', b"\n", b"\x1b[2J", b"../", b"/",
                 b"[]", b"1.5", b'{"a":' * 999, b"-load", b"@", b"%00", b"\xff\xff\xff\xff", b"= ",
                 b"true")  # fmt: skip
"""Pieces that a writer of readers may forget."""

MEMORY: Final = 512 << 20
"""The bytes that a reader may have for its inputs, which have some kilobytes."""

Reader = Callable[[bytes, Path], object]


def limit_memory() -> None:
    """Let this process have half a GiB more."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


def mutated(data: bytes, draw: Random) -> bytes:
    """The bytes with one to four mistakes."""
    made = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(len(made) + 1)
        end = min(len(made), at + draw.choice((1, 4, 40)))
        kind = draw.randrange(8)
        if kind == 0:
            made[at:end] = draw.randbytes(end - at)
        elif kind == 1:
            del made[at:end]
        elif kind == 2:
            made[at:at] = made[at:end]
        elif kind == 3:
            del made[at:]
        elif kind == 4 and at < len(made):
            made[at] ^= 1 << draw.randrange(8)
        else:
            made[at : at + draw.randrange(2)] = draw.choice(LIKELY)
    return bytes(made)


def written(data: bytes, folder: Path, name: str) -> str:
    """A file with the bytes."""
    (folder / name).write_bytes(data)
    return str(folder / name)


def read_whole_log(data: bytes, folder: Path) -> None:
    reader = read_log(written(data, folder, "log"))
    for decision in reader:
        dict(decision.tensors)
    reader.to_arrays()


def show_log(data: bytes, folder: Path) -> None:
    path, shown = written(data, folder, "log"), io.BytesIO()
    text = io.TextIOWrapper(shown, "utf-8")
    with contextlib.redirect_stdout(text):
        try:
            log(["show", path, *["--json"][len(data) % 2 :]])
        finally:
            text.flush()
            text.detach()
    assert b"\x1b" not in shown.getvalue()


def decoder(name: str) -> Reader:
    def read(data: bytes, _: Path) -> None:
        serdes = make_serdes(name, SPECS)
        frame = np.zeros(layout(SPECS)[1], np.uint8)
        serdes.bind(tensor_views(SPECS, frame), frame)
        serdes.decode(data)

    return read


def encoded(name: str) -> bytes:
    serdes = make_serdes(name, SPECS)
    frame = np.arange(layout(SPECS)[1], dtype=np.uint8)
    serdes.bind(tensor_views(SPECS, frame), frame)
    return bytes(serdes.encode())


def compilers_answer(data: bytes, _: Path) -> None:
    try:
        message = compiler_pb2.CompilerMessage.FromString(data)
    except DecodeError:
        return  # the client reports it
    client = CompilerClient("127.0.0.1:1")
    client._take(message)


def answer() -> bytes:
    tensors = [
        {"name": "a", "type": "int64_t", "shape": [2]},
        {"name": "mask", "type": "int64_t", "shape": [1, 3]},
    ]
    episode = {"tensors": tensors, "advice": tensors[0], "choice": {"count": 3, "mask": "mask"}}
    return compiler_pb2.CompilerMessage(observation=bytes(40), episode=episode).SerializeToString()


INLINE: Final = find_point("inline")
LOG: Final = inline_log(
    [(n, n % 2, 1, {"caller": f"caller_{n}" * 9, "callee": "g", "location": "a.c:3:7"}) for n in range(5)]
)
HEADER: Final = mlgo.Header(SPECS[1:], SPECS[0]).line
VOCABULARY: Final = {
    "Opcodes": {"Add": [1.0, 2.0]},
    "Types": {"IntegerTy": [0.5, 1]},
    "Arguments": {"Variable": [3, 4]},
}

SEEDS: Final = Path(__file__).parent / "seeds"
FOUND: Final = SEEDS / "found"
"""Inputs that readers have taken wrongly, in folders of their names, from `python -m bench.sweeps.fuzz`."""


def folder_of(name: str) -> str:
    """A reader's name as that of a folder."""
    return name.replace(" ", "-")


OBJECT: Final = (SEEDS / "object.o").read_bytes()


def member(name: str, data: bytes) -> bytes:
    """A member of an archive."""
    return f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)


ARCHIVE: Final = b"!<arch>\n" + b"".join(
    (member("//", b"a_name_of_many_letters.o/\n"), member("x.o/", b"abc"), member("/0", OBJECT[:64]))
)
THIN: Final = b"!<thin>\n" + member("//", b"a_name_of_many_letters.o/\n") + member("/0", b"")  # of itself
DESCRIPTION: Final = json.dumps({"modules": ["a", "b/c"], "has_thinlto": False}).encode()
COMMAND: Final = b"-cc1\0-triple\0x86_64-pc-linux-gnu\0-Oz\0-mllvm\0-tail-merge-size=2\0-I\0x\0-fmath-errno\0"
PROGRAM: Final = {"name": "p", "language": "c", "compiler": "cc", "objects": ["a"], "libraries": [["b/c"]],
                  "foreign": ["x.o"], "arguments": ["-lm"], "runs": [{"arguments": ["1"]}]}  # fmt: skip
FACTS: Final = {"format": 1, "compiler": "clang version 22", "target": "x", "duplicates": {"d": "a"},
                "modules": {"a": {"sha256": "00", "command": ["cc"], "source": "a.c"}}}  # fmt: skip
CORPUS: Final[dict[str, bytes]] = {
    "corpus_description.json": DESCRIPTION,
    "a.cmd": COMMAND,
    "programs.json": json.dumps({"programs": [PROGRAM]}).encode(),
    "passpilot.json": json.dumps(FACTS).encode(),
}
UNIT: Final = {"source": "/s/a.c", "language": "c", "arguments": ["-cc1"], "bitcode": "00",
               "output": "/o/a.o", "sha256": "11", "code_sha256": "22"}  # fmt: skip
MEMBER: Final = {"name": "b.o", "sha256": "3", "code_sha256": "4"}
ITEMS: Final = [{"kind": "object", "path": "/o/a.o", "sha256": "11"},
                {"kind": "archive", "path": "/o/l.a", "members": [MEMBER]}]  # fmt: skip
RECORDED: Final = {"format": 1, "time": 7, "directory": "/o", "driver": "cc", "command": ["cc"],
                   "units": [UNIT], "link": {"output": "/o/p", "sha256": "", "items": ITEMS}}  # fmt: skip
COMPILED: Final = [
    {"directory": "/x", "file": "a.c", "command": "cc -c 'a.c' -o a.o"},
    {"directory": "/x", "file": "b.c", "arguments": ["ccache", "cc", "b.c"], "output": "b.o"},
]
DECISIONS: Final = b"""\
passpilot decisions 1
unit src/one two.c
pipeline function(gvn,loop-mssa(licm)),mergefunc
option tail-merge-size=2
function main optsize unroll=64 nooutline
inline 1 yes main f
"""
POLICY: Final = b"""\
name = "mine"
description = "x"
llvm = 22
level = "Oz"
targets = ["x86_64"]
license = "x"
[points.inline]
runner = "const:0.5"
[[recipes]]
pipeline = "function(gvn),mergefunc"
options = ["enable-machine-outliner=always"]
[recipes.points.evict]
runner = "default"
"""
RECORD: Final = b"""\
passpilot policy 1
source 1 2 /x
policy @oz
folder /x
level Oz
target x86_64
recipe
runner inline aot:/x.so?as=probability
pipeline function(gvn)
option disable-lsr
"""
SPLIT: Final = b"[families]\nx = ['a', 'b']\n[parts]\ntrain = ['x']\nvalidation = ['c']\ntest = ['d']\n"
IMITATE: Final = b"policy = 'trees'\nseed = 3\n[data]\ntrain = ['a']\n[trees]\nl2 = 1.5\nrounds = 10\n"
EVOLVE: Final = b"modules = ['a.bc']\npipeline = 'default<Oz>'\nhidden = [3, 4]\nsigma = 0.5\n"
KERNEL: Final = (
    b'function = "f"\nfuse = false\n[packs]\n1 = [8, 16, 4]\n[root]\ntile = [4, 0]\n'
    b"[[operations]]\ninterchange = [1, 0]\nvector = [1, 0]\nunroll = 2\nthreads = 1\n"
)
NETWORK: Final = {"names": ["a"], "mean": [0.0], "deviation": [1.0], "scaling": [0, 1],
                  "layers": [{"weights": [[1.0]], "biases": [0.5]}]}  # fmt: skip
RATIO: Final[dict[str, object]] = {"allocated": 5, "text": 3, "stripped": 6, "xz": 2, "objects": 4,
                                   "compile_seconds": 1.5, "cached": 0, "decisions": 5, "agreed": 2,
                                   "run": None, "instructions": 7, "output": "right",
                                   "errors": []}  # fmt: skip
CONTENDERS: Final = [{"name": "-Oz", "kind": "baseline"}, {"name": "c", "kind": "policy"}]
RESULT: Final = {"format": "passpilot eval 2", "contenders": CONTENDERS, "baselines": ["-Oz"], "programs": [
    {"name": "p", "language": "c", "units": 1, "results": {"c": RATIO, "-Oz": RATIO}, "warnings": [],
     "functions": {"names": ["f"], "sizes": {"c": [1]}, "rest": {"c": 2}}}]}  # fmt: skip
TUNED: Final = {"curve": [[0, 1, 10], [1, 2, 9]], "start": 10, "text": 9, "units": ["a", {"name": "b"}],
                "functions": {"before": {"f": 3}, "after": {"f": 2}}}  # fmt: skip
LADDER: Final = {
    **dict.fromkeys(("program", "compiler", "allow", "flags"), "p"),
    "format": "passpilot ladder 1",
    "reward": "xz",
    **dict.fromkeys(("start", "end"), dict.fromkeys(("allocated", "text", "stripped", "xz"), 9)),
    "rows": [
        {**dict.fromkeys(("lever", "rung", "flags", "loses", "group", "note"), ""), "is_taken": False},
    ],
}
COSTS: Final = {
    "module": "m",
    "triple": "t",
    "functions": [{"name": "f", "default": {"cost": 2, "counts": {}}, "advised": {"cost": 1, "counts": {}}}],
}


def placed(name: str, read: Callable[[str], object]) -> Reader:
    """A reader of a file of this name."""
    return lambda data, folder: read(written(data, folder, name))


def in_corpus(name: str) -> Reader:
    """Reads a corpus, one of whose files has the bytes."""

    def read(data: bytes, folder: Path) -> None:
        for other, good in CORPUS.items():
            if other != name and not (folder / other).exists():
                written(good, folder, other)
        written(data, folder, name)
        Corpus.read(folder)

    return read


def recorded(data: bytes, folder: Path) -> None:
    """Reads a recording of one command."""
    (folder / "commands").mkdir(exist_ok=True)
    written(data, folder / "commands", "x.json")
    draft = draft_recording(str(folder))
    for unit in draft.units:
        with contextlib.suppress(OSError):
            unit.bitcode()
    if draft.problems:
        raise InputError(draft.problems[0])


def objects(data: bytes, _: Path) -> None:
    """Reads all that is read of an object."""
    code_hash(data)
    read_embedded("o", data)
    code_bytes(data)
    function_symbols(data)


def policy_record(data: bytes, _: Path) -> None:
    """The record of a policy; compilers make it anew if it is none."""
    if _core.PolicyRecord.parse(data.decode(errors="surrogateescape")) is None:
        raise InputError("none")


def checkpoint(data: bytes, folder: Path) -> None:
    """Reads a checkpoint."""
    Checkpoint.read(written(data, folder, "c"), "key")


def in_compilers(path: str) -> None:
    """Reads decisions as compilers do."""
    _core.decided_options(path, "b.c")


def evaluation(path: str) -> None:
    """Takes up an evaluation, and makes its tables."""
    result = EvaluationResult({}, CONTENDERS, ["-Oz"])
    result.take_up(path)
    markdown(result)
    table_text(result)


def parameters(path: str) -> None:
    """Reads a linker's parameters; there are no such objects."""
    draft_params(path, "/none")


def bundle(path: str) -> None:
    """Reads a policy's folder."""
    read_bundle(os.path.dirname(path), os.path.dirname(path))


def network(path: str) -> None:
    """Reads the weights of a network."""
    DecisionNetwork.read(os.path.dirname(path), arranged(Number(0, 9)))


def thin(path: str) -> None:
    """Reads a thin archive, whose member is its own file."""
    list(read_members(path, Path(path).read_bytes(), os.path.dirname(path)))


def words(data: bytes, _: Path) -> None:
    """Reads a response file, whose every text is words."""
    text = data.decode("utf-8", "surrogateescape")
    gnu_words(text)
    windows_words(text)


def shard(data: bytes, folder: Path) -> None:
    """Reads a shard."""
    DecisionShards(written(data, folder, "s.parquet")).arrays()


def spec(data: bytes, _: Path) -> None:
    """Reads the text of a runner."""
    parse_runner_spec(data.decode("utf-8", "replace"))


def reported(data: bytes, folder: Path) -> None:
    """Reads a result and makes its page."""
    report = Report(100)
    report.add(written(data, folder, "r.json"))
    report.to_html()


READERS: Final[dict[str, tuple[bytes, Reader]]] = {
    "log": (LOG, read_whole_log),
    "log show": (LOG, show_log),
    "replay": (
        LOG,
        lambda data, folder: make_runner(f"replay:{written(data, folder, 'log')}", INLINE).close(),
    ),
    "vocabulary": (
        json.dumps(VOCABULARY).encode(),
        lambda data, folder: Vocabulary.read(written(data, folder, "v")),
    ),
    "hello": (wire.hello(INLINE), lambda data, _: (wire.read_hello(data), wire.read_serdes(data))),
    "welcome": (wire.welcome(SPECS, "const:1"), lambda data, _: wire.read_welcome(data, "server")),
    "gRPC hello": (grpc_messages.hello(INLINE), lambda data, _: _read_hello(data)),
    "MLGO header": (HEADER, lambda data, _: mlgo.read_header(data, "compiler")),
    "MLGO context": (mlgo.context_line("main"), lambda data, _: mlgo.read_event(data, "compiler")),
    "json": (encoded("json"), decoder("json")),
    "protobuf": (encoded("protobuf"), decoder("protobuf")),
    "bitstream": (encoded("bitstream"), decoder("bitstream")),
    "compiler service": (answer(), compilers_answer),
    "response file": (rb"-a 'b c' \"d\" e\\ f", words),
    "decision file": (DECISIONS, placed("d", read_decisions)),
    "decision file in compilers": (DECISIONS, placed("d", in_compilers)),
    "policy": (POLICY, placed("policy.toml", bundle)),
    "policy record": (RECORD, policy_record),
    "runner spec": (b"onnx:m.onnx?output=x&threshold=0.5&map=x:a,b", spec),
    "object": (OBJECT, objects),
    **{n: ((SEEDS / n).read_bytes(), placed("p", Contents.of)) for n in ("program", "program.wasm")},
    "sizes of an earlier build": ((SEEDS / "base.json").read_bytes(), placed("b", SizeReport.read)),
    "unwind table": (OBJECT, placed("u.o", lambda path: _ElfTable(path).entries())),
    "archive": (ARCHIVE, lambda data, _: list(read_members("x.a", data))),
    "thin archive": (THIN, placed("a_name_of_many_letters.o", thin)),
    **{name: (seed, in_corpus(name)) for name, seed in CORPUS.items()},
    "recording": (json.dumps(RECORDED).encode(), recorded),
    "compile commands": (json.dumps(COMPILED).encode(), placed("c.json", read_commands)),
    "linker parameters": (
        b"-o x 'a b.o' l.a --start-lib",
        placed("p", lambda path: draft_params(path, "/no")),
    ),
    "split": (SPLIT, placed("s.toml", SplitFile.read)),
    "imitation": (IMITATE, placed("i.toml", lambda path: read_settings(path, ImitateSettings))),
    "kernel": (KERNEL, placed("k.decisions", lambda path: read_plan(str(path)))),
    "evolution": (EVOLVE, placed("e.toml", lambda path: read_settings(path, EvolveSettings))),
    "checkpoint": ((SEEDS / "checkpoint").read_bytes(), checkpoint),
    "network": (json.dumps(NETWORK).encode(), placed("network.json", network)),
    "shard": ((SEEDS / "shard.parquet").read_bytes(), shard),
    "evaluation": (json.dumps(RESULT).encode(), placed("e.json", evaluation)),
    "report of an evaluation": (json.dumps(RESULT).encode(), reported),
    "report of a search": (json.dumps(TUNED).encode(), reported),
    "report of a ladder": (json.dumps(LADDER).encode(), reported),
    "report of costs": (json.dumps(COSTS).encode(), reported),
    "report of decisions": (DECISIONS, reported),
    "costs": (json.dumps(COSTS).encode(), placed("r.json", read_report)),
    **STUDIES,
    "model": ((MODELS / "actor-13.onnx").read_bytes(), placed("m.onnx", load_model)),
}
"""The readers: a seed, which they take, and the function."""

HARMLESS: Final = ("response file", "a.cmd")
"""Readers that take all bytes."""

SLOW: Final[dict[str, tuple[bytes, Reader]]] = {
    f"{name} {model}": ((MODELS / f"{model}.onnx").read_bytes(), reader)
    for model in ("actor-13", "columns-14", "residual-17", "recurrent-dynamo")
    for name, reader in (
        ("compiled", placed("m.onnx", lambda path: read_graph(path, Choices()))),
        ("run", placed("m.onnx", lambda path: make_runner(f"onnx:{path}", INLINE).close())),
    )
}
"""Readers that run a model."""
