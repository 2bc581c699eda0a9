# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A runner's answers as the bytes that LLVM reads, its statistics, and its complaints."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import AdviceError, PolicyError, SpecMismatchError
from passpilot.runners.attach.answers import LARGEST_PRIORITY, Answers
from passpilot.runners.foreign.mlgo import Header, header_of


def bound(name: str, spec: object, *, header: Header | None = None, on_error: bool = False) -> Answers:
    made = Answers(name, spec, default_on_error=on_error, timed=True)  # type: ignore[arg-type]
    made.bind(header or header_of(find_point(name), default=name == "inline"))
    return made


@pytest.mark.parametrize(
    ("name", "spec", "data"),
    [
        ("inline", "const:1", struct.pack("q", 1)),
        ("inline", "const:0", struct.pack("q", 0)),
        ("priority", "const:7.5", struct.pack("f", 7.5)),
        ("priority", "const:4294967295", struct.pack("f", LARGEST_PRIORITY)),
    ],
)
def test_answers_are_of_the_compilers_type(name: str, spec: str, data: bytes) -> None:
    assert bound(name, spec).answer() == data


@pytest.mark.parametrize("column", [0, 17, 32])
def test_a_column_must_be_allowed(column: int) -> None:
    made = bound("evict", f"const:{column}")
    made._tensors["mask"][0, column] = 1
    assert made.answer() == struct.pack("q", column)
    made._tensors["mask"][0, column] = 0
    with pytest.raises(AdviceError, match="evict advisor at decision 1: advice: expected"):
        made.answer()


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (("callee_users", "edge_count", "is_mine", "node_count"), [24, 8]),
        (("callee_users", "node_count"), [8, 8]),
        (("node_count", "callee_users"), [16]),
        (("edge_count", "node_count", "is_mine", "callee_users"), [8, 8, 8, 8]),
    ],
)
def test_the_message_is_read_into_the_runners_own_tensors(names: tuple[str, ...], sizes: list[int]) -> None:
    """In the header's order, whatever the order of the runner's inputs is; neighbours are one piece."""

    def decide(obs: dict[str, int]) -> bool:
        return bool(obs["callee_users"] == 3 and obs["node_count"] == 5)

    decide.features = ("node_count", "callee_users")  # type: ignore[attr-defined]
    features = tuple(TensorSpec(name, "int64", (1,)) for name in names)
    made = Answers("inline", decide)  # type: ignore[arg-type]
    pieces = made.bind(Header(features, find_point("inline").advice))
    assert [len(piece) for piece in pieces] == sizes
    values = {"callee_users": 3, "node_count": 5, "edge_count": 1, "is_mine": 2}
    data, start = b"".join(struct.pack("q", values[name]) for name in names), 0
    for piece in pieces:
        piece[:] = data[start : start + len(piece)]
        start += len(piece)
    assert made.answer() == struct.pack("q", 1)
    assert {name: made._tensors[name].item() for name in names} == {name: values[name] for name in names}


def test_a_compiler_that_wants_another_advice() -> None:
    header = header_of(find_point("priority"), default=False)
    other = Header(header.features, replace(header.advice, dtype="float64"))
    told = (
        r"priority channel: expected a compiler that wants priority as float32\[1\], got .*float64\[1\]; use"
    )
    with pytest.raises(SpecMismatchError, match=told):
        bound("priority", "const:1", header=other)


def test_a_compiler_that_does_not_send_what_is_needed() -> None:
    evict = header_of(find_point("evict"), default=False)
    without = replace(evict, features=tuple(spec for spec in evict.features if spec.name != "mask"))
    with pytest.raises(SpecMismatchError, match=r"runner const:32 at this compiler's .*mask"):
        bound("evict", "const:32", header=without)
    inline = header_of(find_point("inline"), default=False)
    bound("inline", "const:1", header=inline)
    with pytest.raises(SpecMismatchError, match="inlining_default"):
        bound("inline", "const:1", header=inline, on_error=True)


def fails(_obs: object) -> bool:
    raise ValueError("no idea")


def leaves(_obs: object) -> bool:
    raise SystemExit(3)


@pytest.mark.parametrize(("policy", "told"), [(fails, "ValueError: no idea"), (leaves, "SystemExit: 3")])
def test_the_default_in_place_of_a_failure(policy: object, told: str) -> None:
    made = bound("inline", policy, on_error=True)
    made.switch_context("a.c")
    for default in (1, 0, 1):
        made._tensors["inlining_default"][...] = default
        assert made.answer() == struct.pack("q", default)
    assert [line.split() for line in made.report().splitlines()[1:4]] == [
        ["3", "decisions"],
        ["0", "accepted"],
        ["0", "refused"],
    ]
    (complaint,) = made.complaints()
    head = (
        "inline advisor: 3 of 3 decisions fell back to the default; the first: inline advisor at decision 0 "
    )
    assert complaint.startswith(f"{head}(a.c): {told}")
    with pytest.raises(PolicyError, match=f"^inline advisor at decision 0: {told}"):
        bound("inline", policy).answer()


class Contexts:
    """A policy that wants no context but the first."""

    def decide(self, _obs: object) -> bool:
        return True

    def switch_context(self, name: str) -> None:
        if name == "bad":
            raise ValueError("unknown context")


def test_a_context_that_fails() -> None:
    made = bound("inline", Contexts())
    made.switch_context("good")
    with pytest.raises(PolicyError, match=r"\(bad\): ValueError: unknown context"):
        made.switch_context("bad")
    made = bound("inline", Contexts(), on_error=True)
    made.switch_context("bad")
    assert made.answer() == struct.pack("q", 1)
    assert not made.fallbacks


@pytest.mark.parametrize(
    ("name", "specs", "rows"),
    [
        ("inline", ("const:1", "const:1", "const:0"), ["accepted", "refused"]),
        ("evict", ("const:3", "const:5", "const:32"), ["evictions", "kept"]),
        ("priority", ("const:0", "const:0", "const:1"), []),
    ],
)
def test_statistics(name: str, specs: tuple[str, ...], rows: list[str]) -> None:
    """What was decided, in the point's words; the last column and no are to do nothing."""
    last = bound(name, specs[-1])
    for spec in specs:
        made = bound(name, spec)
        if name == "evict":
            made._tensors["mask"][...] = 1
        last._evaluate, last._tensors = made._evaluate, made._tensors
        last.answer()
    last.sessions = 2
    head, decisions, *middle, sessions, fallbacks, mean = last.report().splitlines()
    assert (head, decisions) == (f"{name} advisor {specs[-1]}:", "         3 decisions")
    assert [line.split() for line in middle] == [
        [str(count), word.removesuffix("s") if count == 1 and word == "evictions" else word]
        for count, word in zip((2, 1), rows, strict=False)
    ]
    assert (sessions, fallbacks) == ("         2 sessions", "         0 fallbacks to the default")
    assert mean.endswith(" microseconds per decision")
    assert list(last.complaints()) == []


def test_a_runner_is_made_once_and_closed() -> None:
    made: list[str] = []

    class Policy:
        def __init__(self) -> None:
            made.append("made")

        def decide(self, _obs: object) -> bool:
            return True

        def close(self) -> None:
            made.append("closed")

    answers = bound("inline", Policy)
    answers.bind(header_of(find_point("inline"), default=False))
    answers.close()
    assert made == ["made", "closed"]


def test_the_mean_time_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = bound("inline", "const:1")
    monkeypatch.setattr("time.perf_counter", iter((1.0, 1.5, 3.0, 5.0)).__next__)
    made.answer()
    made.answer()
    assert made.report().splitlines()[-1] == "1250000.00 microseconds per decision"


def test_a_feature_of_a_newer_compiler_comes_with_its_header() -> None:
    def decide(obs: dict[str, int]) -> bool:
        return bool(obs["brand_new"])

    decide.features = ("brand_new",)  # type: ignore[attr-defined]
    made = Answers("inline", decide)  # type: ignore[arg-type]
    assert made.wants_default, "nobody knows yet what the policy reads"
    known = header_of(find_point("inline"), default=True)
    made.bind(replace(known, features=(*known.features, TensorSpec("brand_new", "int64", (1,)))))
    assert [made.wants_default] == [False]
    made._tensors["brand_new"][...] = 1
    assert made.answer() == struct.pack("q", 1)


def test_a_compiler_that_never_asks() -> None:
    made = Answers("inline", "const:1")
    told = "inline advisor: runner const:1 was never asked: the compiler came to no such decision"
    assert list(made.complaints()) == [told]
    assert made.report().splitlines()[1:] == [
        "         0 decisions",
        "         0 accepted",
        "         0 refused",
        "         0 sessions",
        "         0 fallbacks to the default",
        "      0.00 microseconds per decision",
    ]


def test_who_wants_llvms_decision() -> None:
    assert [Answers("inline", spec).wants_default for spec in ("const:1", "default")] == [False, True]
    assert Answers("inline", "const:1", default_on_error=True).wants_default
    assert not Answers("evict", "const:32").wants_default
