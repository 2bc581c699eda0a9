# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of real modules give the same as the command line with the same decisions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from passpilot.plugin.errors import CompilationError
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage, Start
from passpilot.training.compiler_service import SERVICE
from passpilot.training.task import Task
from tests.command import GENEROUS, passpilot
from tests.passes.allocation import pressure
from tests.runners.serving.hostile import CHECK, closed, message, opened, wait_for_end
from tests.stock import MANY_CALLS, clang, opt, run
from tests.training.serving import INLINE, Asked, Service, play, served

REPLAY = """\
import json
import pathlib

ACTIONS = iter(json.loads(pathlib.Path(__file__).with_suffix(".json").read_text()))


def decide(obs):
    return next(ACTIONS)
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    clang(MANY_CALLS, folder / "calls.bc")
    with served(folder, f"--modules={folder}") as running:
        yield running


@pytest.fixture(scope="module")
def module(service: Service) -> bytes:
    return service.temporary.with_name("calls.bc").read_bytes()


def test_a_malformed_message_is_answered(service: Service, module: bytes) -> None:
    """The stream goes on."""
    start = AgentMessage(
        start={"code": module, "point": "inline", "pipeline": "default<Oz>", "reward": "native-size"}
    )
    messages = (b"\xff" * 99, b"", start.SerializeToString())
    with grpc.insecure_channel(service.target) as channel:
        episodes: Any = channel.stream_stream(f"/{SERVICE}/Episodes")
        answers = [CompilerMessage.FromString(data) for data in episodes(iter(messages))]
    assert [answer.WhichOneof("kind") for answer in answers] == ["failure", "failure", "observation"]
    assert "agent: expected a message of compiler.proto, got b'" in answers[0].failure.failure.error


def replayer(folder: Path, actions: list[float]) -> str:
    """The spec of a runner that gives these answers in this order."""
    (folder / "replay.py").write_text(REPLAY)
    (folder / "replay.json").write_text(json.dumps(actions))
    return f"python:{folder / 'replay.py'}:decide"


def text_size(file: Path) -> int:
    """The bytes of code, measured by LLVM's own tool."""
    rows = [line.split() for line in run("llvm-size", "-A", file).decode().splitlines()]
    return sum(int(row[1]) for row in rows if row and row[0].startswith(".text"))


def size_after_llc(bitcode: Path) -> int:
    done = bitcode.with_suffix(".o")
    run("llc", "-filetype=obj", bitcode, "-o", done)
    return text_size(done)


def size_by_default(module: bytes, level: int) -> float | None:
    """The baseline, without a service."""
    start = Start(code=module, pipeline="default<Oz>", reward="native-size", opt_level=level)
    return Task.of(start).run()


def unit(corpus: Callable[[str, str], Path], level: str = "Oz") -> bytes:
    """A translation unit of a real program, as the front end leaves it."""
    return corpus("lua", level).with_name("src__lstrlib.c.bc").read_bytes()


def test_inlining_is_what_the_command_line_makes_of_the_same_answers(
    service: Service, corpus: Callable[[str, str], Path], tmp_path: Path
) -> None:
    source = tmp_path / "in.bc"
    source.write_bytes(unit(corpus))
    with service.client() as client:
        played = play(client, 1, source.read_bytes(), **INLINE)
    assert len(played.actions) > 50
    flags = ("opt", source, "-passes=default<Oz>", f"--inline={replayer(tmp_path, played.actions)}")
    done = passpilot(*flags, "-o", tmp_path / "out.bc", cwd=tmp_path)
    assert done.code == 0, done.err
    assert played.value == size_after_llc(tmp_path / "out.bc")
    (tmp_path / "stock.bc").write_bytes(opt(source, "default<Oz>")[0])
    assert played.baseline == size_after_llc(tmp_path / "stock.bc")
    assert played.value != played.baseline
    assert played.reward == (played.baseline - played.value) / played.baseline


@pytest.mark.parametrize(
    ("point", "passes", "place"),
    [
        ("cold", "function(advised-cold),default<O2>", ""),
        ("advised-size", "default<O2>", "pipeline-start=advised-size"),
    ],
)
def test_passes_in_python_are_as_on_the_command_line(
    service: Service,
    corpus: Callable[[str, str], Path],
    tmp_path: Path,
    point: str,
    passes: str,
    place: str,
) -> None:
    """A loaded pass, and one that passpilot ships."""
    source = tmp_path / "in.bc"
    source.write_bytes(unit(corpus, "O2"))
    at = dict([place.split("=")] if place else [])
    with service.client() as client:
        played = play(
            client, 3, source.read_bytes(), point=point, pipeline=passes, at=at, reward="native-size"
        )
    assert len(played.actions) > 50
    advise = f"--advise={point}={replayer(tmp_path, played.actions)}"
    flags = [f"--load={service.loaded}", f"-passes={passes}", *([f"--at={place}"] if place else []), advise]
    done = passpilot("opt", source, *flags, "-o", tmp_path / "out.bc", cwd=tmp_path)
    assert done.code == 0, done.err
    assert played.value == size_after_llc(tmp_path / "out.bc")
    assert played.value != played.baseline


@pytest.mark.parametrize("point", ["evict", pytest.param("priority", marks=pytest.mark.soak)])
def test_allocation_is_what_the_command_line_makes_of_the_same_answers(
    service: Service, corpus: Callable[[str, str], Path], tmp_path: Path, point: str
) -> None:
    source, optimized = tmp_path / "in.bc", tmp_path / "optimized.bc"
    source.write_bytes(unit(corpus))
    optimized.write_bytes(opt(source, "default<O2>")[0])
    asked: Asked = {"point": point, "reward": "allocation-cost"}
    with service.client() as client:
        played = play(client, 2, optimized.read_bytes(), **asked)
        asked["pipeline"] = "default<O2>"
        assert play(client, 2, source.read_bytes(), **asked) == played
    assert played.actions
    runner, report = replayer(tmp_path, played.actions), tmp_path / "cost.json"
    flags = ("-filetype=null", f"--{point}={runner}", f"--report={report}")
    done = passpilot("llc", optimized, *flags, cwd=tmp_path)
    assert done.code == 0, done.err
    total = json.loads(report.read_text())["total"]
    assert (played.value, played.baseline) == (total["advised"], total["default"])
    assert played.value != played.baseline


def test_both_rewards_of_any_point(service: Service, module: bytes) -> None:
    with service.client() as client:
        cost = play(client, 1, module, point="inline", pipeline="default<Oz>", reward="allocation-cost")
        size = play(client, 1, module, **INLINE)
        assert cost.actions == size.actions
        assert cost.baseline != size.baseline
        assert client.reset(module, point="inline", pipeline="default<O2>") is not None


def test_a_baseline_is_of_the_same_options(service: Service, module: bytes) -> None:
    """The options that only the agent sees do not matter."""
    levels = [0, 3, 0]
    with service.client() as client:
        for function in ("", "second"):
            found = []
            for level in levels:
                observation = client.reset(module, **INLINE, opt_level=level, function=function)
                while observation is not None:
                    observation, *_ = client.step(0)
                found.append(client.info["baseline"])
            assert found[0] == found[2] != found[1]
            assert found == [size_by_default(module, level) for level in levels]


def test_no_reward_measures_nothing(service: Service, module: bytes) -> None:
    with service.client() as client:
        observation = client.reset(module, point="inline", pipeline="default<Oz>")
        while observation is not None:
            observation, reward, _, info = client.step(0)
        assert reward == 0
        assert set(info) == {"decisions", "notes"}


def test_episodes_use_a_process_again_also_after_a_reset(service: Service, module: bytes) -> None:
    with service.client() as client:
        seen = set()
        for _ in range(3):
            observation = client.reset(module, **INLINE, features=["process"])
            for _ in range(4):
                assert observation is not None
                seen.add(observation["process"].item())
                observation, *_ = client.step(1)
        assert len(seen) == 1


def test_features_are_those_that_were_asked_for(service: Service, corpus: Callable[[str, str], Path]) -> None:
    with service.client() as client:
        observation = client.reset(
            unit(corpus), point="evict", pipeline="default<O2>", features=["evict_default", "nr_urgent"]
        )
        assert observation is not None
        assert [*observation] == ["evict_default", "nr_urgent", "mask"]
        assert [str(spec) for spec in client.tensors] == ["int64[1]", "float32[1,33]", "int64[1,33]"]
        assert observation["mask"][0, int(observation["evict_default"].item())] == 1
        assert (client.advice.name, str(client.advice)) == ("index_to_evict", "int64[1]")


def test_the_default_played_by_an_agent_is_the_baseline(service: Service, module: bytes) -> None:
    with service.client() as client:
        observation = client.reset(module, **INLINE, features=["inlining_default"])
        while observation is not None:
            observation, reward, _, info = client.step(observation["inlining_default"])
        assert info["value"] == info["baseline"]
        assert reward == 0


@pytest.mark.parametrize(("function", "asked"), [("second", True), ("kept", True), ("sink_of_none", False)])
def test_one_function_is_the_agents_and_the_default_takes_the_others(
    service: Service, function: str, asked: bool, tmp_path: Path
) -> None:
    text = MANY_CALLS + "int sink_of_none(void) { return table[3]; }"
    module = clang(text, tmp_path / "m.bc").read_bytes()
    with service.client() as client:
        observation = client.reset(module, **INLINE, function=function)
        while observation is not None:
            observation, *_ = client.step(0)
        decisions, notes = client.info["decisions"], client.info["notes"]
        whole = play(client, 1, module, **INLINE)
    assert isinstance(decisions, int)
    assert bool(decisions) == asked
    assert decisions < len(whole.actions)
    assert notes == (() if asked else (f"function {function}: the compiler asked nothing about it",))


@pytest.mark.parametrize("point", ["evict", "priority"])
def test_functions_share_the_decisions_of_the_allocator(service: Service, tmp_path: Path, point: str) -> None:
    module = pressure.compiled(tmp_path).read_bytes()

    def decisions(function: str) -> int:
        default = f"{point}_default"
        observation = client.reset(module, point=point, features=[default], function=function)
        while observation is not None:
            observation, *_ = client.step(observation[default])
        count = client.info["decisions"]
        assert isinstance(count, int)
        return count

    with service.client() as client:
        whole, *parts = [decisions(name) for name in ("", "sums", "blend", "main")]
    assert parts[0]
    assert parts[1]
    assert whole == sum(parts)


def test_a_module_that_asks_nothing_is_an_episode_without_actions(service: Service) -> None:
    with service.client() as client:
        assert client.reset(b"define i32 @f() { ret i32 1 }", **INLINE) is None
        assert client.info["decisions"] == 0
        assert client.info["value"] == client.info["baseline"]
        (note,) = client.info["notes"]  # type: ignore[misc]
        assert "runner agent was never asked" in str(note)


def test_a_cost_that_nothing_has_is_noted(service: Service, module: bytes) -> None:
    asked: Asked = {"point": "inline", "pipeline": "default<Oz>", "reward": "allocation-cost"}
    with service.client() as client:
        for level in (0, 2):
            observation = client.reset(module, **asked, opt_level=level)
            while observation is not None:
                observation, *_ = client.step(1)
            noted = "no function was allocated by the greedy allocator" in str(client.info["notes"])
            assert noted == (level == 0) == (client.info["value"] == 0)


def test_modules_of_the_corpus_are_named_by_path(service: Service, module: bytes) -> None:
    with service.client() as client:
        assert play(client, 3, "calls.bc", **INLINE) == play(client, 3, module, **INLINE)


def test_eight_at_once_are_as_alone_and_a_crash_costs_one(service: Service, module: bytes) -> None:
    with service.client() as client:
        alone = [play(client, seed, module, **INLINE) for seed in range(7)]
    together = threading.Barrier(8)

    def one(seed: int) -> object:
        with service.client() as client:
            observation = client.reset(module, **INLINE, features=["process"])
            assert observation is not None
            process = observation["process"].item()
            together.wait()  # all are in the middle of an episode
            if seed == 7:
                with pytest.raises(CompilationError, match="got its death by SIG"):
                    client.reset(module, **INLINE, features=["crash"])
            return process, play(client, seed % 7, module, **INLINE)

    with ThreadPoolExecutor(8) as pool:
        done: list[tuple[int, object]] = list(pool.map(one, range(8)))  # type: ignore[arg-type]
    assert len({process for process, _ in done}) == 8
    assert [played for _, played in done] == [*alone, alone[0]]


def test_health_and_reflection(service: Service) -> None:
    with grpc.insecure_channel(service.target) as channel:
        state = health_pb2_grpc.HealthStub(channel)
        name = "passpilot.v1.Compiler"
        answer = state.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        known = ProtoReflectionDescriptorDatabase(channel)
        assert name in known.get_services()
        file = known.FindFileContainingSymbol(name)
        assert [method.name for method in file.service[0].method] == ["Episodes"]


def test_health_checks_of_other_names_and_unfinished_messages_end(tmp_path: Path) -> None:
    """An agent's message has no declared size: its deadline bounds it, and an honest agent goes on."""
    with served(tmp_path, "--timeout=1") as service, grpc.insecure_channel(service.target) as channel:
        with pytest.raises(grpc.RpcError, match="NOT_FOUND"):
            next(health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service="x" * 99)))
        begun = message(bytes(10_000), 150 << 20)
        port = int(service.target.rpartition(":")[2])
        with opened(port, "/passpilot.v1.Compiler/Episodes", begun) as agent, opened(port, CHECK) as looker:
            assert closed(agent, GENEROUS)
            wait_for_end(looker)
