# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks of MkDocs: make the pages of the API reference, and give diagrams the colours of the page.

The build fails if a public name is on no page, or if something public has no docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

import passpilot

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

    Item = griffe.Object | griffe.Alias

PAGES: Final = {
    "compile": (
        "Modules and compilations",
        "Read a module, optimize it, generate code.",
        "Module optimize emit PipelineOptions Remarks llvm_options",
    ),
    "advisors": (
        "Advisors",
        "An advisor connects a runner with a decision point.",
        "advisor passes.advisor.Advisor InlineAdvisor EvictAdvisor PriorityAdvisor DO_NOT_EVICT"
        " OrderAdvisor ActionAdvisor ColourAdvisor SplitAdvisor ScheduleAdvisor AllocatorAction"
        " passes.decision_counts.Stats",
    ),
    "points": (
        "Decision points",
        "A decision point defines what a runner sees and what it may answer.",
        "DecisionPoint Flag Choice Number Point find_point"
        " UNROLL SIZE HOTNESS VECTORIZE VECTOR_PLANS SLP DISTRIBUTE OUTLINER OUTLINE"
        " MLIR_INLINE MLIR_TILE TILE_SIZES MLIR_FUSE MLIR_INTERCHANGE MLIR_PACK MLIR_PARALLEL MLIR_VECTORIZE"
        " VECTOR_SIZES MLIR_STACK",
    ),
    "runners": (
        "Policies and runners",
        "A runner answers: a function, a model, another process.",
        "Observation policy_factory Runner make_runner runner_scheme function_runner check_runner",
    ),
    "features": (
        "Features and graphs",
        "What a policy or a model can see.",
        "TensorSpec Feature feature Vocabulary call_graph control_flow_graph interference_graph"
        " graph_features ir2vec_features mir2vec_features",
    ),
    "learning": (
        "Logs and episodes",
        "What a trainer reads, drives and writes.",
        "read_log features.log.reader.LogReader features.log.reader.LoggedDecision name_columns"
        " CompilerClient Phases",
    ),
    "searches": (
        "Searches and evaluations",
        "A search for the decisions that suit one program best, and what policies are worth on many.",
        "tune ladder evaluate training.ladder.ladder.LadderResult training.ladder.ladder.LadderRow"
        " training.ladder.ladder.LadderSizes training.ladder.programs.LadderStep"
        " training.tuning.result.TuneResult training.tuning.study.Study"
        " training.tuning.study.Trial training.tuning.decision_file.UnitDecisions"
        " training.tuning.decision_file.CallKey training.evaluation.results.EvaluationResult",
    ),
}
"""The pages of the names in `dir(passpilot)`: title, first sentence, names.

A name with a dot is no public name; users meet its objects as results.
"""

MODULES: Final = {
    "llvm": "Registers passes in Python for LLVM's pipelines; see [the guide](../passes.md).",
    "mlir": "Registers and runs passes in Python for MLIR's pipelines; see [the guide](../mlir.md).",
    "ir": "LLVM's IR; [the guide](../ir.md) has its rules.",
    "llvmlite": "Compiles modules of llvmlite, and what Numba compiles; see [the guide](../llvmlite.md).",
    "lit": "Prepares lit for tests of policies and passes; see [the guide](../lit.md).",
    "training": "Shards of decisions and environments; see [the guide](../training.md).",
    "errors": "Every error that passpilot raises on purpose.",
}
"""The public modules; each has a page."""

TREE: Final = "\n    options:\n      inherited_members: false"
DIAGRAM: Final = re.compile(r"^!\[[^\]]*\]\((images/[\w-]+\.svg)\)$", re.MULTILINE)
STYLE: Final = re.compile(r"<style>.*?</style>\n", re.DOTALL)
CODE: Final = re.compile(r"`[^`\n]*`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the API reference.

    Raises:
        PluginError: a public name is on no page, or something public has no docstring.
    """
    wanted = {*dir(passpilot)} - {"__version__", *exported("errors")}
    placed = {name for *_, names in PAGES.values() for name in names.split() if "." not in name}
    ours = {*MODULES, *placed}
    if wanted != ours:
        differ = ", ".join(sorted(wanted ^ ours))
        raise PluginError(f"tools/site.py: expected the names of dir(passpilot), got others: {differ}")
    package = griffe.load("passpilot", search_paths=[Path(__file__).parents[1]])
    assert isinstance(package, griffe.Module)
    names = [name for page in reference() for name in page.names]
    if bare := [path for name in names for path in undocumented(package[name], name)]:
        raise PluginError(f"API reference: expected docstrings, got none at {', '.join(bare)}")
    for page in reference():
        files.append(File.generated(config, f"api/{page.name}.md", content=page.text()))
    files.append(File.generated(config, "api/index.md", content=index(package)))
    return files


def on_page_markdown(markdown: str, config: MkDocsConfig, **_: object) -> str:
    """Replace diagrams by their SVG, which has the page's colours, and `\\|` by `|` in code in tables."""
    lines = (
        CODE.sub(lambda found: found[0].replace(r"\|", "|"), line) if line.startswith("|") else line
        for line in markdown.split("\n")
    )
    return DIAGRAM.sub(lambda found: inlined(Path(config.docs_dir, found[1])), "\n".join(lines))


def inlined(image: Path) -> str:
    """An SVG file as a figure of a page, without its own colours."""
    return f'<figure class="diagram">{STYLE.sub("", image.read_text()).strip()}</figure>'


class ApiPage(NamedTuple):
    """A page of the API reference."""

    name: str
    title: str
    sentence: str
    names: list[str]
    """What follows `passpilot.`."""
    more: str = ""
    """What follows the first sentence."""
    options: str = ""

    def text(self) -> str:
        """The page in Markdown; mkdocstrings replaces its directives."""
        parts = [f"# {self.title}", self.sentence, self.more]
        parts += [f"::: passpilot.{name}{self.options}" for name in self.names]
        return "\n\n".join(filter(None, parts)) + "\n"


def reference() -> Iterator[ApiPage]:
    for name, (title, sentence, names) in PAGES.items():
        yield ApiPage(name, title, sentence, names.split())
    for name, sentence in MODULES.items():
        more = inspect.cleandoc(getattr(passpilot, name).__doc__ or "").partition("\n\n")[2]
        # Errors and the IR are trees of classes, in which each is shown with what it adds.
        options = TREE if name in ("errors", "ir") else ""
        names_in = [f"{name}.{public}" for public in exported(name)]
        yield ApiPage(name, f"passpilot.{name}", sentence, names_in, more, options)


def exported(module: str) -> list[str]:
    found = getattr(passpilot, module)
    return [error.__name__ for error in found.PUBLIC] if module == "errors" else list(found.__all__)


def undocumented(item: Item, path: str) -> Iterator[str]:
    """The public things without a docstring: the item, and what a class adds to its bases."""
    if not item.has_docstring:
        yield path
    if isinstance(item, griffe.Alias):
        item = item.final_target
    if isinstance(item, griffe.Class):
        known = {name for base in item.mro() for name in base.members} | attributes(item)
        for name, member in item.members.items():
            if not name.startswith("_") and name not in known:
                yield from undocumented(member, f"{path}.{name}")


def attributes(item: griffe.Class) -> set[str]:
    """The names in the section `Attributes` of a class's docstring."""
    sections = item.docstring.parse("google") if item.docstring else []
    return {
        attribute.name
        for section in sections
        if isinstance(section, griffe.DocstringSectionAttributes)
        for attribute in section.value
    }


def index(package: griffe.Module) -> str:
    rows = [
        "# Public names",
        "",
        "All names that `dir(passpilot)` lists, those of its modules, and classes of results.",
        "",
    ]
    for page in reference():
        rows += [f"## {page.title}", "", page.sentence, "", "| name | what it is |", "|---|---|"]
        rows += [f"| [`{shown(name)}`][passpilot.{name}] | {summary(package[name])} |" for name in page.names]
        rows.append("")
    return "\n".join(rows)


def shown(name: str) -> str:
    """A name as users write it: with a public module, but without the module where a result's class is."""
    return name if name.partition(".")[0] in MODULES else name.rpartition(".")[2]


def summary(item: Item) -> str:
    """The first line of a docstring."""
    return item.docstring.value.partition("\n")[0].replace("|", r"\|") if item.docstring else ""
