# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PolicySource`: the names that a Python file defines, read from its text; nothing in the file is run."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import deque
from collections.abc import Iterator

from passpilot.plugin.errors import PolicyError
from passpilot.plugin.failures import did_you_mean, headline, printable
from passpilot.plugin.files import read_regular

_MOST_BYTES = 1 << 20
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class PolicySource:
    """A file's functions and constants. A name counts if the file binds it once, at its top level."""

    def __init__(self, path: str) -> None:
        try:
            data = read_regular(path, _MOST_BYTES)
        except OSError as error:
            raise PolicyError(f"{path}: expected a Python file, got: {error.strerror or error}") from error
        self.path = path
        self.digest = hashlib.sha256(data).hexdigest()
        """SHA-256 of the file, in hexadecimal."""
        try:
            with warnings.catch_warnings(action="ignore"):  # Python warns of odd text; it is not run here
                tree = ast.parse(data, path)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 1
            msg = f"{path}:{line}: expected Python, got {headline(error)}"
            raise PolicyError(printable(msg)) from error
        self.bindings: dict[str, list[ast.AST]] = {}
        """The places that bind a name of the file."""
        self._top = set(tree.body)
        for node in _bound(tree):
            for name in _names(node):
                self.bindings.setdefault(name, []).append(node)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                msg = f"{path}:{node.lineno}: expected the names that are imported, got *, which may be any"
                raise PolicyError(printable(f"{msg}; name them"))

    def function(self, name: str) -> ast.FunctionDef:
        """The function to compile.

        Raises:
            PolicyError: the file has no plain function of this name.
        """
        places = self.bindings.get(name)
        if not places:
            functions = [
                key for key, nodes in self.bindings.items() if isinstance(nodes[-1], ast.FunctionDef)
            ]
            hint = did_you_mean(name, functions)
            known = ", ".join(functions) or "none"
            msg = f"{self.path}: expected a function of this file ({known}), got {name!r}{hint}"
            raise PolicyError(printable(msg))
        found = self.definition(name)
        if not isinstance(found, ast.FunctionDef):
            line = getattr(places[-1], "lineno", 1)
            msg = (
                f"{self.path}:{line}: expected a plain function {name!r} at the top of the file, got another"
            )
            raise PolicyError(printable(f"{msg}; write def {name}(obs): ..., bound once"))
        return found

    def definition(self, name: str) -> ast.FunctionDef | ast.expr | None:
        """The function or the value of a constant; None if the name is bound in another way, or twice."""
        places = self.bindings.get(name, [])
        if len(places) != 1 or places[0] not in self._top:
            return None
        (place,) = places
        if isinstance(place, ast.FunctionDef):
            return place
        if isinstance(place, ast.AnnAssign):
            return place.value
        one = isinstance(place, ast.Assign) and len(place.targets) == 1
        return place.value if isinstance(place, ast.Assign) and one and _is_name(place.targets[0]) else None


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _bound(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements and expressions that may bind names of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node
    waiting = deque[ast.AST]([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _names(node: ast.AST) -> list[str]:
    """The names that a node itself binds; an assignment stands for those of its targets."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Global):
        return node.names
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.NamedExpr)):
        targets = [node.target]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.withitem) and node.optional_vars:
        targets = [node.optional_vars]
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    return [name for target in targets for name in _set_in(target)]


def _set_in(node: ast.AST) -> list[str]:
    """The names that a part of the text sets or deletes."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, (ast.Store, ast.Del))]


def local_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function assigns, which are local everywhere in it, and its parameters."""
    stored = [name for statement in function.body for name in _set_in(statement)]
    return {*stored, *(argument.arg for argument in function.args.args)}
