# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public names: which there are, where they show up, and that the guides use no others."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import passpilot

ROOT: Final = Path(__file__).parents[1]
MODULES: Final = ["errors", "ir", "lit", "llvm", "llvmlite", "mlir", "training"]
CLASSES: Final = [
    "ActionAdvisor",
    "AllocatorAction",
    "Choice",
    "ColourAdvisor",
    "CompilerClient",
    "DecisionPoint",
    "Error",
    "EvictAdvisor",
    "Feature",
    "Flag",
    "InlineAdvisor",
    "Module",
    "Number",
    "Observation",
    "OrderAdvisor",
    "PasspilotWarning",
    "Phases",
    "PipelineOptions",
    "Point",
    "PriorityAdvisor",
    "Remarks",
    "Runner",
    "ScheduleAdvisor",
    "SplitAdvisor",
    "TensorSpec",
    "Vocabulary",
]
CONSTANTS: Final = [
    "DISTRIBUTE",
    "DO_NOT_EVICT",
    "HOTNESS",
    "MLIR_FUSE",
    "MLIR_INLINE",
    "MLIR_INTERCHANGE",
    "MLIR_PACK",
    "MLIR_PARALLEL",
    "MLIR_STACK",
    "MLIR_TILE",
    "MLIR_VECTORIZE",
    "OUTLINE",
    "OUTLINER",
    "SIZE",
    "SLP",
    "TILE_SIZES",
    "VECTOR_SIZES",
    "UNROLL",
    "VECTORIZE",
    "VECTOR_PLANS",
    "__version__",
]
FUNCTIONS: Final = [
    "advisor",
    "call_graph",
    "check_runner",
    "control_flow_graph",
    "emit",
    "evaluate",
    "feature",
    "find_point",
    "function_runner",
    "graph_features",
    "interference_graph",
    "ir2vec_features",
    "ladder",
    "llvm_options",
    "make_runner",
    "mir2vec_features",
    "name_columns",
    "optimize",
    "policy_factory",
    "read_log",
    "runner_scheme",
    "tune",
]
GUIDES: Final = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/**/*.py"))]


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert dir(passpilot) == sorted([*MODULES, *CLASSES, *CONSTANTS, *FUNCTIONS])
    assert passpilot.__all__ == dir(passpilot)


def test_type_checkers_see_each_name_at_its_home() -> None:
    tree = ast.parse((ROOT / "passpilot" / "__init__.py").read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If) and "custom" in ast.dump(node)]
    seen = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in typed.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    homes = {name: f"passpilot.{home}.{name}" for name, home in passpilot._HOMES.items()}
    modules = {name: getattr(passpilot, name).__name__ for name in MODULES}
    assert seen == homes | modules


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS])
def test_help_shows_the_public_name(name: str) -> None:
    value = getattr(passpilot, name)
    module = "passpilot.errors" if name in ("Error", "PasspilotWarning") else "passpilot"
    assert (value.__module__, value.__qualname__) == (module, name)
    assert pickle.loads(pickle.dumps(value)) is value
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_importable_and_names_what_it_has(name: str) -> None:
    module = getattr(passpilot, name)
    code = f"import passpilot.{name} as m, passpilot; print(m is passpilot.{name}, m.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == f"True {module.__name__}\n"
    public = getattr(module, "__all__", [each for each in vars(module) if each.endswith("Error")])
    assert public
    for each in public:
        if isinstance(value := getattr(module, each), type) or inspect.isfunction(value):
            assert value.__module__ == f"passpilot.{name}"


def test_a_traceback_shows_a_name_that_can_be_caught() -> None:
    code = "import passpilot; passpilot.Module.read('no-such-file')"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert told.splitlines()[-1].startswith("passpilot.errors.InputError: ")


def imports(text: str) -> Iterator[tuple[str, str]]:
    """The modules of passpilot that Python in a text imports from, with the names."""
    for module, names in re.findall(r"^\s*from (passpilot\S*) import (.+)$", text, re.MULTILINE):
        yield from ((module, name.strip()) for name in names.split(","))
    yield from ((module, "") for module in re.findall(r"^\s*import (passpilot\S*)$", text, re.MULTILINE))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_guide_imports_public_names(guide: Path) -> None:
    public = {"passpilot", *(f"passpilot.{name}" for name in MODULES)}
    for module, name in imports(guide.read_text()):
        assert module in public
        assert not name or name in dir(passpilot) or module != "passpilot"


def used(text: str) -> Iterator[tuple[str, ...]]:
    """The dotted names behind `passpilot.` in the Python code of a guide."""
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            parts: list[str] = []
            while isinstance(node, ast.Attribute):
                parts.insert(0, node.attr)
                node = node.value
            if parts and isinstance(node, ast.Name) and node.id == "passpilot":
                yield tuple(parts)


def is_public(names: tuple[str, ...]) -> bool:
    """Whether `passpilot` has the name, and a public module the name behind it."""
    first, *rest = names
    if first not in dir(passpilot):
        return False
    module = getattr(passpilot, first)
    return first not in MODULES or not rest or rest[0] in getattr(module, "__all__", dir(module))


@pytest.mark.parametrize(
    "guide",
    [each for each in GUIDES if each.suffix == ".md"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_code_of_a_guide_uses_public_names(guide: Path) -> None:
    assert [names for names in used(guide.read_text()) if not is_public(names)] == []


def test_a_stale_name_in_a_guide_is_seen() -> None:
    text = "```python\npasspilot.optimise(m)\npasspilot.ir.Function.name\npasspilot.ir.Block\n```\n"
    assert {names for names in used(text) if not is_public(names)} == {("optimise",), ("ir", "Block")}


def test_a_checkout_that_is_not_built_says_what_to_do() -> None:
    """Python without site-packages sees the checkout alone, as before `make build`."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import passpilot"],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: passpilot at {ROOT / 'passpilot'}: the checkout is not built; "
        "run `make build` in it, and use its .venv"
    )


def test_the_package_links_to_every_room() -> None:
    """Tools that read the tree, such as type checkers, see the whole package without a build."""
    links = {link.name: link.readlink() for link in (ROOT / "passpilot").iterdir() if link.is_symlink()}
    rooms = ("cli", "features", "passes", "plugin", "policies", "runners", "training")
    assert links == {room: Path("..", room) for room in rooms}
