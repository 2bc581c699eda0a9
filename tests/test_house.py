# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules of the house: who may import whom, how long a file may be, what start-up may cost."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("plugin", "features", "runners", "passes", "training", "cli")
HEAVY = ("numpy", "networkx", "rich", "onnxruntime", "llvmlite", "torch", "grpc", "importlib.metadata")
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
LONGEST = 500
LONGEST_FUNCTION = 60
MOST_MODULES = 16
MADE = ("_core.pyi", "_pb2.py", "_pb2.pyi")
"""How the names of files end that a tool writes."""


FOLDERS = (*LAYERS, "policies", "tests", "lit_tests", "bench", "examples", "tools")
SUFFIXES = {".py", ".pyi", ".in", ".cpp", ".c", ".h", ".sh"}
SOURCES = sorted(
    f for folder in ("passpilot", *FOLDERS) for f in (ROOT / folder).rglob("*") if f.suffix in SUFFIXES
)


def imports(file: Path) -> Iterator[str]:
    """Every name imported anywhere in the file, those inside functions and `if TYPE_CHECKING` included."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ("passpilot", *file.relative_to(ROOT).parts[:-1])
            base = package[: len(package) + 1 - node.level] if node.level else ()
            stem = ".".join((*base, *([node.module] if node.module else [])))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


MODULE_NAME = re.compile(r"\bpasspilot(?:\.[A-Za-z_]\w*)+")


def names_in_strings(file: Path) -> Iterator[str]:
    """The names of passpilot's modules in strings that are no docstrings: they may be imported by these."""
    tree = ast.parse(file.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from MODULE_NAME.findall(node.value)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_the_layers_below(layer: str) -> None:
    above = LAYERS[LAYERS.index(layer) + 1 :]
    forbidden = {f"passpilot.{name}" for name in above}
    broken = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted((ROOT / layer).rglob("*.py*"))
        if file.suffix in {".py", ".pyi"}
        for name in (*imports(file), *names_in_strings(file))
        if ".".join(name.split(".")[:2]) in forbidden
    ]
    assert not broken


def test_a_string_that_names_a_module_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "climbs.py"
    text = '"""As passpilot.cli.doc."""\nx = f"passpilot.cli.{x}"\nimport_module("passpilot.passes.python")\n'
    file.write_text(text)
    assert list(names_in_strings(file)) == ["passpilot.cli", "passpilot.passes.python"]


def test_cpp_imports_modules_that_exist() -> None:
    for file in sorted((ROOT / "plugin" / "native").rglob("*.cpp")):
        for name in re.findall(r'"passpilot\.([\w.]+)"', file.read_text()):
            assert (ROOT / name.replace(".", "/")).with_suffix(".py").is_file(), f"{file}: passpilot.{name}"


def test_a_relative_import_is_seen_as_what_it_names() -> None:
    assert "passpilot.plugin.errors.Error" in set(imports(ROOT / "passpilot" / "__init__.py"))


@pytest.mark.parametrize("file", SOURCES, ids=lambda f: str(f.relative_to(ROOT)))
def test_a_source_file_is_short_and_names_its_licence(file: Path) -> None:
    lines = file.read_text().splitlines()
    assert len(lines) <= LONGEST or file.name.endswith(MADE)
    assert any(LICENCE in line for line in lines[:2])


@pytest.mark.parametrize("layer", LAYERS)
def test_functions_are_short(layer: str) -> None:
    long = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in sorted((ROOT / layer).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert not long


@pytest.mark.parametrize("layer", LAYERS)
def test_no_folder_has_many_modules(layer: str) -> None:
    """Those of the commands do not count: there is one for each, by its name."""
    from passpilot.cli.main import COMMANDS

    commands = {f"cli/{name.replace('-', '_')}.py" for name in COMMANDS}
    modules = Counter(
        file.parent.relative_to(ROOT)
        for file in (ROOT / layer).rglob("*.py")
        if not file.name.endswith(("__init__.py", *MADE)) and str(file.relative_to(ROOT)) not in commands
    )
    assert {str(folder): count for folder, count in modules.items() if count > MOST_MODULES} == {}


def test_a_class_has_a_name_of_its_own() -> None:
    """Private ones, too. What a tool writes does not count: it has the names of the wire and the core."""
    homes: dict[str, set[str]] = {}
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            for node in ast.walk(ast.parse("" if file.name.endswith(MADE) else file.read_text())):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name.lstrip("_"), set()).add(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_help_starts_without_the_heavy_packages() -> None:
    script = (
        "import contextlib, io, sys\n"
        "from passpilot.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "assert 'passpilot' in out.getvalue()\n"
        "print(*sys.modules)\n"
    )
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert not set(HEAVY) & set(loaded)


def test_the_public_names_exist_and_are_lazy() -> None:
    script = "import passpilot, sys; print(*(m for m in sys.modules if m.startswith('passpilot.')))"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert set(loaded) == {"passpilot.plugin", "passpilot.plugin.version"}
    import passpilot

    assert all(getattr(passpilot, name) is not None for name in passpilot.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = passpilot.no_such_name
