# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot size --inlined`: growth that comes from inlining, by the decision logs of builds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.version import MAJOR
from passpilot.training.growth.inlined import inlined_into, inliners, newly_inlined
from tests.command import passpilot, refused

SOURCE: Final = """\
static int scale(int x) { return x * 77 + (x >> 3); }
int first(int x) { return scale(x) + scale(x + 3); }
int second(int x) { return scale(x) - 1; }
int main(int count, char **texts) { return first(count) + second(count); }
"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One program without inlining and with LLVM's, and the logs of both builds."""
    folder = tmp_path_factory.mktemp("builds")
    (folder / "main.c").write_text(SOURCE)
    for name, runner in (("before", "const:0"), ("now", "default")):
        words = ("-O2", "main.c", "-o", name, f"--inline={runner}", f"--log={name}-logs/")
        assert passpilot("cc", *words, cwd=folder).code == 0
    return folder


@pytest.fixture
def here(builds: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(builds, tmp_path / "here"))


def whys(folder: Path, *words: str) -> dict[str, str]:
    done = passpilot("size", "now", *words, "--result=growth.json", cwd=folder)
    assert done.code == 0, done.err
    growth = json.loads((folder / "growth.json").read_text())["growth"][0]
    return {change["name"]: change["what"] for change in growth["symbols"]}


def test_what_grew_names_what_was_inlined(here: Path) -> None:
    found = whys(here, "--against=before", "--inlined=now-logs")
    assert found["first"] == "shrank"
    assert found["second"] == "grew; inlines scale"
    assert found["main.c:scale"] == "gone; inlined into first, second"
    if MAJOR >= 22:  # LLVM 21's is as large as without inlining
        assert found["main"] == "grew; inlines first, second"
    assert "; inlines" not in " ".join(whys(here, "--against=before").values())


def test_a_baseline_knows_what_was_inlined_before(here: Path) -> None:
    assert passpilot("size", "before", "--inlined=before-logs", "--result=none.json", cwd=here).code == 0
    assert passpilot("size", "now", "--inlined=now-logs", "--result=same.json", cwd=here).code == 0
    stored = json.loads((here / "same.json").read_text())["files"][0]
    assert stored["inlined"] == {
        "first": {"scale": 2},
        "main": {"first": 1, "second": 1},
        "second": {"scale": 1},
    }
    assert "inlined" not in json.loads((here / "none.json").read_text())["files"][0], "nothing was inlined"
    assert whys(here, "--against=none.json", "--inlined=now-logs")["second"] == "grew; inlines scale"
    smaller = json.loads((here / "same.json").read_text())
    smaller["files"][0]["symbols"]["second"][0] = 1
    (here / "same.json").write_text(json.dumps(smaller))
    assert whys(here, "--against=same.json", "--inlined=now-logs") == {"second": "grew"}


def test_only_more_calls_count() -> None:
    now = {"f": {"a": 2, "_ZN1c1dEv": 1, "b": 1}, "g": {"a": 1}}
    assert newly_inlined("x.c:f", {"f": {"a": 1, "b": 1}}, now) == "c::d(), a"
    assert newly_inlined("f", {}, now) == "a (2 calls), c::d(), b"
    assert newly_inlined("g", {"g": {"a": 3}}, now) == newly_inlined("h", {}, now) == ""
    assert inlined_into("x.c:a", inliners(now)) == "f, g"
    assert inlined_into("f", inliners(now)) == ""


def test_a_folder_without_such_logs(here: Path) -> None:
    (here / "other").mkdir()
    error = refused("size", "now", "--against=before", "--inlined=other", cwd=here)
    assert "other: expected logs of the inliner, got none; build with `passpilot cc --inline=default" in error
    assert "none: expected a folder, got none" in refused(
        "size", "now", "--against=before", "--inlined=none", cwd=here
    )
    error = refused("size", "now", "--inlined=now-logs", cwd=here, code=2)
    assert "size: --inlined: expected --against or --result beside it" in error
    error = refused("size", "--ladder", "now", "--inlined=other", cwd=here, code=2)
    assert "size: --inlined: expected no --ladder beside it" in error
    wrong = json.loads(passpilot("size", "now", "--inlined=now-logs", "--result=-", cwd=here).out)
    wrong["files"][0]["inlined"]["first"]["scale"] = "two"
    (here / "wrong.json").write_text(json.dumps(wrong))
    assert "wrong.json: expected what `passpilot size" in refused(
        "size", "now", "--against=wrong.json", cwd=here
    )
