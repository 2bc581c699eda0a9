# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ScheduleAdvisor`: LLVM's own order with its own answers, legal code with others, in both doors."""

from __future__ import annotations

import re
import subprocess
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pytest

from passpilot.features.llvm.schedule import COLUMNS
from passpilot.features.log.reader import read_log
from passpilot.passes.llvm_advisors import ScheduleAdvisor
from passpilot.plugin import _core
from passpilot.plugin.errors import AdviceError, PasspilotWarning, StaleViewError
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.runners.python import Observation
from tests import stock
from tests.command import passpilot
from tests.passes.allocation.allocated import TRIPLES, by_llc, emitted, link

TARGETS = [target for target in TRIPLES if target != "amdgcn"]
SOURCE = """
static unsigned mix(unsigned *s, unsigned a, unsigned b, unsigned c, unsigned d) {
  unsigned e = s[a] * 3 + s[b], f = s[c] * 5 ^ s[d], g = (e << 7 | e >> 25) - f;
  s[a] = g; s[b] = f + (g >> 3); s[c] = e * f; s[d] ^= e + g;
  return e ^ f ^ g;
}
unsigned work(unsigned *s, unsigned n) {
  unsigned h = 1;
  for (unsigned i = 0; i < n; ++i)
    h = h * 31 + mix(s, i % 13, (i + 3) % 13, (i + 6) % 13, (i + 9) % 13);
  return h;
}
"""
MAIN = """
int printf(const char *, ...);
int main(void) {
  unsigned s[13];
  for (unsigned i = 0; i < 13; ++i) s[i] = i * 2654435761u;
  unsigned h = work(s, 1000);
  for (unsigned i = 0; i < 13; ++i) h = h * 17 + s[i];
  printf("%u\\n", h);
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("schedule"), SOURCE + MAIN)


def compiled(folder: Path, source: str, *flags: str) -> Path:
    (folder / "in.c").write_text(source)
    stock.run("clang", "-O2", *flags, "-emit-llvm", "-c", folder / "in.c", "-o", folder / "in.bc")
    return folder / "in.bc"


def echo(obs: Observation) -> object:
    return obs.default()


def site_of(obs: Observation) -> _core.ScheduleSite:
    site = obs.site
    assert isinstance(site, _core.ScheduleSite)
    return site


@pytest.mark.parametrize("target", TARGETS)
def test_llvms_answers_make_llvms_code(target: str, tmp_path: Path) -> None:
    """Both for a policy that sees all features and for one that sees none."""
    source = compiled(tmp_path, SOURCE, f"--target={TRIPLES[target]}")
    expected = by_llc(source)
    seen: list[int] = []

    def looks(obs: Observation) -> object:
        seen.append(sum(int(obs[name].sum()) for name in obs))
        return obs.default()

    for policy in (echo, looks):
        with ScheduleAdvisor(policy) as advisor:
            assert emitted(source, [advisor]) == expected
        assert advisor.stats.decisions > 10
        assert advisor.stats.agreed == advisor.stats.decisions
    assert len(seen) == advisor.stats.decisions


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(3))
def test_random_schedules_are_right(target: str, seed: int, tmp_path: Path) -> None:
    source = compiled(tmp_path, SOURCE, f"--target={TRIPLES[target]}")
    done = passpilot(
        "llc", source, "-filetype=obj", "-verify-machineinstrs", f"--schedule=random:{seed}", "-o", "a.o",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert (tmp_path / "a.o").read_bytes() != by_llc(source)


def test_a_program_with_random_schedules_prints_the_same(module: Path, tmp_path: Path) -> None:
    expected = output(link(by_llc(module), tmp_path))
    assert len(expected) > 1
    codes = set()
    for seed in range(5):
        with ScheduleAdvisor(f"random:{seed}") as advisor:
            code = emitted(module, [advisor])
        assert output(link(code, tmp_path)) == expected
        codes.add(code)
    assert len(codes) == 5


def output(program: Path) -> bytes:
    return subprocess.run([program], check=True, capture_output=True, timeout=60).stdout


def test_a_policy_sees_the_instructions_that_are_ready(module: Path) -> None:
    sites: list[_core.ScheduleSite] = []
    freed: list[int] = []

    def decide(obs: Observation) -> object:
        site, mask, order = site_of(obs), obs["mask"][0], obs["order"][0]
        count = int(mask.sum())
        assert mask.shape == (COLUMNS,)
        assert len(site.instructions) == len(site.opcodes) == count > 1
        assert list(mask) == [1] * count + [0] * (COLUMNS - count)
        assert all(first < second for first, second in pairwise(order[:count]))
        assert site.from_top == bool(obs["from_top"].item())
        assert site.function in ("work", "main", "mix")
        assert str(site) == f"block {site.block} of {site.function}"
        assert all(op in text for op, text in zip(site.opcodes, site.instructions, strict=True))
        for column, opcode in enumerate(site.opcodes):
            assert obs["is_copy"][0][column] == (opcode == "COPY")
            assert obs["is_load"][0][column] or not opcode.startswith("MOV32rm")
        assert not obs["depth"][0][count:].any()
        freed.append(int(obs["freed"].sum()))
        assert obs["remaining"].item() >= count
        sites.append(site)
        return obs.default()

    with ScheduleAdvisor(decide) as advisor:
        emitted(module, [advisor])
    assert len(sites) == advisor.stats.decisions
    assert 0 in freed
    assert max(freed) > 1
    with pytest.raises(StaleViewError):
        _ = sites[0].block


def test_the_order_is_that_of_the_answers(tmp_path: Path) -> None:
    """With the source's order as the answer, only what is not ready in its cycle moves."""
    source = compiled(tmp_path, SOURCE)
    (tmp_path / "order.py").write_text(
        "def decide(obs):\n    return 0 if obs['from_top'].item() else int(obs['mask'].sum()) - 1\n"
    )
    plugin = (f"-load={llvm_plugin()}", f"-passpilot-schedule=python:{tmp_path}/order.py:decide")
    shuffled = (f"-load={llvm_plugin()}", "-passpilot-schedule=random:1")
    before, after, ours = (
        opcodes(stock.run("llc", "-O2", *flags, source, "-o", "-").decode())
        for flags in (
            ("-stop-before=machine-scheduler",),
            ("-stop-after=machine-scheduler", *shuffled),
            ("-stop-after=machine-scheduler", *plugin),
        )
    )
    assert sorted(ours) == sorted(before) == sorted(after)
    assert moved(before, ours) < moved(before, after)


def moved(before: list[str], after: list[str]) -> float:
    """The share of instructions that are out of the order of `before`."""
    return 1 - SequenceMatcher(None, before, after, autojunk=False).ratio()


def opcodes(machine: str) -> list[str]:
    """The instructions of LLVM's machine code as text, without copies, which LLVM moves afterwards."""
    found = re.findall(r"^    .*?\b([A-Z][A-Z0-9]+[a-z0-9]*)\b", machine, re.MULTILINE)
    return [opcode for opcode in found if opcode != "COPY"]


def test_a_wrong_column_is_refused(module: Path) -> None:
    told = "expected a column below 2, the number of instructions that are ready, got column 31"
    with (
        pytest.raises(AdviceError, match=told),
        ScheduleAdvisor(lambda obs: 31 if obs["mask"].sum() == 2 else obs.default()) as advisor,
    ):
        emitted(module, [advisor])


def test_the_log_names_blocks_and_opcodes(module: Path, tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    with ScheduleAdvisor("random:1", log=str(log)) as advisor:
        code = emitted(module, [advisor])
    rows = list(read_log(log))
    assert len(rows) == advisor.stats.decisions
    for row in rows:
        assert row.context in ("work", "main", "mix")
        assert row.register.startswith("%bb.")
        assert len(row.registers) == row.tensors["mask"].sum()
    with ScheduleAdvisor(f"replay:{log}") as advisor:
        assert emitted(module, [advisor]) == code


@pytest.mark.parametrize("flag", ["-misched=ilpmax", "-O0"])
def test_who_is_not_asked_is_told(module: Path, tmp_path: Path, flag: str) -> None:
    done = passpilot("llc", module, "--schedule=const:0", flag, "-o", "a.s", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "schedule advisor: runner const:0 was never asked: the target's scheduler asks nobody" in done.err


def test_amd_gpus_keep_their_own_scheduler(tmp_path: Path) -> None:
    flags = (f"--target={TRIPLES['amdgcn']}", "-mcpu=gfx90a", "-nogpulib")
    source = compiled(tmp_path, SOURCE, *flags)
    with (
        pytest.warns(PasspilotWarning, match="was never asked.* WebAssembly and AMDGPU"),
        ScheduleAdvisor("random:1") as advisor,
    ):
        assert emitted(source, [advisor]) == by_llc(source)


def test_stock_tools_ask_the_same(module: Path, tmp_path: Path) -> None:
    with ScheduleAdvisor("random:4") as advisor:
        hosted = emitted(module, [advisor])
    assert hosted != by_llc(module)
    plugin = (f"-load={llvm_plugin()}", "-passpilot-schedule=random:4")
    flags = ("-O2", "-filetype=obj", "-relocation-model=pic")
    assert stock.run("llc", *plugin, *flags, module, "-o", "-") == hosted
    outputs = []
    for advice in ((), ("--schedule=default",), ("--schedule=random:4",)):
        done = passpilot("cc", *advice, "-O2", "-c", module, "-o", "a.o", cwd=tmp_path)
        assert done.code == 0, done.err
        outputs.append((tmp_path / "a.o").read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]
