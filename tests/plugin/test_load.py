# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pickle
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from passpilot.plugin.errors import FeatureError, InputError
from passpilot.plugin.load import load_file


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_file_runs_once(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    path = written(tmp_path / "policy.py", f"open({str(trace)!r}, 'a').close()\nstate = []\n")
    module = load_file(path)
    trace.unlink()
    assert load_file(str(path)) is module
    assert load_file(tmp_path / ".." / tmp_path.name / "policy.py") is module
    assert not trace.exists()


def test_module_is_a_proper_one(tmp_path: Path) -> None:
    path = written(tmp_path / "policy.py", "class Policy:\n    pass\n")
    module = load_file(path)
    assert sys.modules[module.__name__] is module
    assert module.__file__ == str(path)
    assert type(pickle.loads(pickle.dumps(module.Policy()))) is module.Policy
    assert [entry.name for entry in tmp_path.iterdir()] == ["policy.py"]


def test_files_of_the_same_name_are_two_modules(tmp_path: Path) -> None:
    modules = []
    for name in ("json", "other", "third"):
        (tmp_path / name).mkdir()
        modules.append(load_file(written(tmp_path / name / "json.py", f"name = {name!r}\n")))
    assert [module.name for module in modules] == ["json", "other", "third"]
    assert [sys.modules[module.__name__].name for module in modules] == ["json", "other", "third"]
    assert sys.modules["json"] not in modules


def test_any_suffix_will_do(tmp_path: Path) -> None:
    assert load_file(written(tmp_path / "policy", "answer = 7\n")).answer == 7


def test_neighbours_can_be_imported(tmp_path: Path) -> None:
    written(tmp_path / "passpilot_test_neighbour.py", "answer = 7\n")
    path = written(tmp_path / "policy.py", "import passpilot_test_neighbour\n")
    assert load_file(path).passpilot_test_neighbour.answer == 7


def test_a_folder_is_searched_last_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour hides no module of Python's."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("one.py", "two.py"):
        load_file(written(tmp_path / name, ""))
    assert sys.path[-1] == str(tmp_path)
    assert sys.path.count(str(tmp_path)) == 1


def test_ctrl_c_passes_through(tmp_path: Path) -> None:
    path = written(tmp_path / "policy.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_file(path)
    written(path, "answer = 7\n")
    assert load_file(path).answer == 7


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x = 1\n1 / 0\n", ":2: expected Python that runs, got ZeroDivisionError: division by zero"),
        ("def f():\n    raise KeyError('k')\n\nf()\n", ":2: expected Python that runs, got KeyError: 'k'"),
        (
            "x = 1\nimport passpilot_no_such\n",
            ":2: expected Python that runs, got ModuleNotFoundError: No module",
        ),
        ("import json\njson.loads('{')\n", ":2: expected Python that runs, got JSONDecodeError: "),
        ("x = 1\n\nif x\n    pass\n", ":3: expected Python that runs, got SyntaxError: expected ':'"),
        ("def f():\nreturn 1\n", ":2: expected Python that runs, got IndentationError: "),
        ("import sys\nsys.exit('no')\n", ":2: expected Python that runs, got SystemExit: no"),
        ("assert False\n", ":1: expected Python that runs, got AssertionError"),
        ("x = '\0'\n", ": expected Python that runs, got "),
    ],
)
def test_failing_file_is_named_with_its_line(source: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path / "policy.py", source)
    with pytest.raises(InputError) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"file {path}{text}")
    assert caught.value.__cause__ is not None


def test_failed_file_leaves_nothing_and_can_be_mended(tmp_path: Path) -> None:
    before = set(sys.modules)
    path = written(tmp_path / "policy.py", "1 / 0\n")
    with pytest.raises(InputError):
        load_file(path)
    assert set(sys.modules) == before
    written(path, "answer = 7\n")
    assert load_file(path).answer == 7


def test_errors_of_ours_pass_through(tmp_path: Path) -> None:
    source = 'from passpilot.features.custom import feature\nfeature("int64[1]", name="callee_users")(len)\n'
    with pytest.raises(FeatureError, match=r"policy\.py:2"):
        load_file(written(tmp_path / "policy.py", source))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"file .*absent\.py: expected a Python file .* No such file"):
        load_file(tmp_path / "absent.py")
    with pytest.raises(InputError, match="expected a Python file that can be read, got: Is a directory"):
        load_file(tmp_path)


def test_two_threads_get_one_module(tmp_path: Path) -> None:
    path = written(tmp_path / "policy.py", "import time\ntime.sleep(0)\nanswer = 7\n")
    found: list[ModuleType] = []
    threads = [threading.Thread(target=lambda: found.append(load_file(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert {id(module) for module in found} == {id(found[0])}
    assert found[0].answer == 7
