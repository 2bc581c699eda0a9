# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A real policy: a tree fitted on logged decisions, pipelines behind the level's own, and the outliner."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np

from passpilot.features.columns import name_columns
from passpilot.features.log.reader import read_log
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.module import Module
from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice, write_policy
from tests import stock

NAMES: Final = ("cost_estimate", "callsite_height", "callee_basic_block_count")
LIMIT: Final = -25
"""The estimated cost below which the tree inlines."""

PIPELINE: Final = "function(gvn,instcombine<no-verify-fixpoint>,simplifycfg),mergefunc"
OUTLINE: Final = ("enable-machine-outliner=always",)
CARD: Final = "# tiny\n\nInlines cheap calls; fitted on\none program.\n\n## More\n"
ALIKE: Final = """
extern int limit;
void out(int, int, int);
int {name}(int a, int b) {{
  int s = small(a);
  if (a < limit) {{
    out(a, 17, 2); out(5, 23, 3); out(6, 99, 4); out(3, 8, 7); out(11, 12, 13); s += small(b);
  }}
  for (int i = 0; i < b; ++i) s += table[i & 63] * {factor};
  return s;
}}
"""
"""Functions with parts in common, for the outliner and for `mergefunc`."""

SOURCE: Final = stock.MANY_CALLS + "".join(
    ALIKE.format(name=name, factor=factor)
    for name, factor in (("some", 3), ("more", 5), ("most", 5), ("last", 9))
)


def fit(folder: Path) -> Path:
    """Fit a tree on logged decisions: yes to what costs less than `LIMIT`; the path of the model."""
    from skl2onnx import to_onnx
    from sklearn.tree import DecisionTreeClassifier

    module = Module.read(stock.clang(SOURCE, folder / "learn.bc"))
    log = folder / "learn.log"
    with InlineAdvisor("random:3", log=str(log)) as advisor:
        optimize(module, "default<O2>", advisor)
    columns = read_log(log).to_arrays()
    table = np.stack([columns[name].ravel() for name in NAMES], axis=1).astype(np.float32)
    wanted = table[:, 0] < LIMIT
    assert 0 < wanted.sum() < len(wanted)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(table, wanted)
    model = to_onnx(tree, table[:1], options={"zipmap": False}, target_opset=17)
    del model.graph.output[0]  # the label; the probabilities stay
    name_columns(model, NAMES)
    path = folder / "tree.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def write_tiny(folder: Path, model: Path, **changes: object) -> Path:
    """Write the policy `tiny` with the model; `changes` are values of its `PolicyText`."""
    text = PolicyText(**{"name": "tiny", "description": "Inlines cheap calls", "card": CARD, **changes})  # type: ignore[arg-type]
    recipes = (
        RecipeChoice(PIPELINE, OUTLINE),
        RecipeChoice(options=OUTLINE),
        RecipeChoice(points={"inline": PointChoice(runner="default")}),
    )
    write_policy(str(folder), text, {"inline": PointChoice(str(model), options="as=logits")}, recipes)
    return folder


def install(site: Path, folder: Path, name: str = "tiny", owner: str = "me") -> None:
    """Install a policy as a distribution of its own into a folder for PYTHONPATH."""
    package = site / f"policies_of_{owner}"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('nobody runs this')\n")
    os.symlink(folder, package / name)
    info = site / f"policies_of_{owner}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: policies-of-{owner}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[passpilot.policies]\n{name} = policies_of_{owner}:{name}\n")
