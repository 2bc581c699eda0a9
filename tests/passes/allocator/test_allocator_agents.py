# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advised allocator's agents in other processes: over gRPC, and two in two processes at once."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from passpilot.features.log.reader import read_log
from tests.passes.allocation.allocated import TRIPLES, link, printed, retargeted
from tests.passes.allocator.steps import POINTS, emitted_by, random_runners
from tests.runners.serving import grpc_serving
from tests.runners.serving.serving import served

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("point", POINTS)
def test_grpc_answers_as_a_runner_here(point: str, pressed: Path) -> None:
    with grpc_serving.served("random:11", f"--point={point}") as (_, target):
        there = emitted_by(pressed, {point: f"grpc:{target}"})
    assert there == emitted_by(pressed, {point: "random:11"})


@pytest.mark.parametrize("points", [("ra-order", "ra-split"), ("ra-action", "ra-colour")])
def test_two_agents_answer_from_two_processes(points: tuple[str, str], pressed: Path, tmp_path: Path) -> None:
    """One answers over a pipe, the other one over gRPC, in one allocation."""
    here = {point: f"random:{seed}" for seed, point in enumerate(points, 21)}
    by_pipe, by_grpc = points
    base = str(tmp_path / "server")
    with ExitStack() as stack:
        piped = stack.enter_context(served(here[by_pipe], base, f"--point={by_pipe}"))
        streamed, target = stack.enter_context(grpc_serving.served(here[by_grpc], f"--point={by_grpc}"))
        assert piped.pid != streamed.pid
        there = emitted_by(pressed, {by_pipe: f"pipe:{base}", by_grpc: f"grpc:{target}"}, tmp_path)
    assert there == emitted_by(pressed, here)
    for point in points:
        assert len(read_log(tmp_path / f"{point}.log").to_arrays()["mask"]) > 0


@pytest.mark.parametrize("seed", [31, 32, 33])
def test_four_random_agents_are_correct(seed: int, pressed: Path, tmp_path: Path) -> None:
    """`emitted_by` verifies the machine code."""
    expected = printed(link(emitted_by(pressed, {}), tmp_path))
    assert printed(link(emitted_by(pressed, random_runners(seed)), tmp_path)) == expected


@pytest.mark.parametrize("seed", [34, 35, 36])
def test_four_random_agents_compile_for_aarch64(seed: int, pressed: Path) -> None:
    source = retargeted(pressed, "aarch64")
    assert emitted_by(source, random_runners(seed), triple=TRIPLES["aarch64"])


@pytest.mark.parametrize("point", POINTS)
def test_a_runner_that_reads_less_sees_the_same_questions(point: str, pressed: Path, tmp_path: Path) -> None:
    """`random:` reads the mask alone, so the allocator leaves out the rest; a log reads everything."""
    assert emitted_by(pressed, random_runners(41)) == emitted_by(pressed, random_runners(41), tmp_path)
    assert emitted_by(pressed, {point: "random:42"}) == emitted_by(pressed, {point: "random:42"}, tmp_path)
