# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passpilot: Python steers a compiler.

`dir(passpilot)` lists the public names. A name is imported from its home at its first use, so
`import passpilot` costs nothing and a compilation imports only what it uses.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it as true; importing typing would cost more than we do
if TYPE_CHECKING:  # what type checkers read in place of _HOMES and _MODULES; a test compares them
    from typing import Final

    from passpilot import training as training
    from passpilot.cli import lit as lit
    from passpilot.cli.evaluate import evaluate as evaluate
    from passpilot.features.columns import name_columns as name_columns
    from passpilot.features.custom import feature as feature
    from passpilot.features.domain import Choice as Choice
    from passpilot.features.domain import Flag as Flag
    from passpilot.features.domain import Number as Number
    from passpilot.features.llvm.allocator import AllocatorAction as AllocatorAction
    from passpilot.features.llvm.evict import DO_NOT_EVICT as DO_NOT_EVICT
    from passpilot.features.llvm.graphs import call_graph as call_graph
    from passpilot.features.llvm.graphs import control_flow_graph as control_flow_graph
    from passpilot.features.llvm.graphs import interference_graph as interference_graph
    from passpilot.features.llvm.ir2vec import Vocabulary as Vocabulary
    from passpilot.features.llvm.ir2vec import ir2vec_features as ir2vec_features
    from passpilot.features.llvm.native.graph import graph_features as graph_features
    from passpilot.features.llvm.native.mir2vec import mir2vec_features as mir2vec_features
    from passpilot.features.llvm.vectorize import VECTOR_PLANS as VECTOR_PLANS
    from passpilot.features.log.reader import read_log as read_log
    from passpilot.features.mlir.schedule import VECTOR_SIZES as VECTOR_SIZES
    from passpilot.features.mlir.tile import TILE_SIZES as TILE_SIZES
    from passpilot.features.point import Feature as Feature
    from passpilot.features.point import Point as Point
    from passpilot.features.point import find_point as find_point
    from passpilot.features.spec import TensorSpec as TensorSpec
    from passpilot.passes.advisor import advisor as advisor
    from passpilot.passes.decision_point import DecisionPoint as DecisionPoint
    from passpilot.passes.emit import emit as emit
    from passpilot.passes.llvm_advisors import ActionAdvisor as ActionAdvisor
    from passpilot.passes.llvm_advisors import ColourAdvisor as ColourAdvisor
    from passpilot.passes.llvm_advisors import EvictAdvisor as EvictAdvisor
    from passpilot.passes.llvm_advisors import InlineAdvisor as InlineAdvisor
    from passpilot.passes.llvm_advisors import OrderAdvisor as OrderAdvisor
    from passpilot.passes.llvm_advisors import PriorityAdvisor as PriorityAdvisor
    from passpilot.passes.llvm_advisors import ScheduleAdvisor as ScheduleAdvisor
    from passpilot.passes.llvm_advisors import SplitAdvisor as SplitAdvisor
    from passpilot.passes.llvmlite import api as llvmlite
    from passpilot.passes.mlir import api as mlir
    from passpilot.passes.mlir.fuse import MLIR_FUSE as MLIR_FUSE
    from passpilot.passes.mlir.inline import MLIR_INLINE as MLIR_INLINE
    from passpilot.passes.mlir.schedule.advised import MLIR_INTERCHANGE as MLIR_INTERCHANGE
    from passpilot.passes.mlir.schedule.advised import MLIR_PACK as MLIR_PACK
    from passpilot.passes.mlir.schedule.advised import MLIR_PARALLEL as MLIR_PARALLEL
    from passpilot.passes.mlir.schedule.advised import MLIR_VECTORIZE as MLIR_VECTORIZE
    from passpilot.passes.mlir.stack import MLIR_STACK as MLIR_STACK
    from passpilot.passes.mlir.tile import MLIR_TILE as MLIR_TILE
    from passpilot.passes.optimize import optimize as optimize
    from passpilot.passes.python import api as llvm
    from passpilot.passes.shipped.distribute import DISTRIBUTE as DISTRIBUTE
    from passpilot.passes.shipped.hotness import HOTNESS as HOTNESS
    from passpilot.passes.shipped.outline import OUTLINE as OUTLINE
    from passpilot.passes.shipped.outline import OUTLINER as OUTLINER
    from passpilot.passes.shipped.phases import Phases as Phases
    from passpilot.passes.shipped.size import SIZE as SIZE
    from passpilot.passes.shipped.slp import SLP as SLP
    from passpilot.passes.shipped.unroll import UNROLL as UNROLL
    from passpilot.passes.shipped.vectorize import VECTORIZE as VECTORIZE
    from passpilot.plugin import errors as errors
    from passpilot.plugin import ir as ir
    from passpilot.plugin.compile import PipelineOptions as PipelineOptions
    from passpilot.plugin.compile import Remarks as Remarks
    from passpilot.plugin.compile import llvm_options as llvm_options
    from passpilot.plugin.errors import Error as Error
    from passpilot.plugin.errors import PasspilotWarning as PasspilotWarning
    from passpilot.plugin.module import Module as Module
    from passpilot.runners.base import Runner as Runner
    from passpilot.runners.conformance import check_runner as check_runner
    from passpilot.runners.native import function_runner as function_runner
    from passpilot.runners.python import Observation as Observation
    from passpilot.runners.python import policy_factory as policy_factory
    from passpilot.runners.spec import make_runner as make_runner
    from passpilot.runners.spec import runner_scheme as runner_scheme
    from passpilot.training.episode import CompilerClient as CompilerClient
    from passpilot.training.ladder.programs import ladder as ladder
    from passpilot.training.tuning.tune import tune as tune

    __all__ = ["__version__", "llvm", "llvmlite", "mlir"]

try:
    from passpilot.plugin.version import __version__
except ModuleNotFoundError as error:  # CMake writes it
    if error.name != "passpilot.plugin.version":
        raise
    message = (
        f"passpilot at {__path__[0]}: the checkout is not built; run `make build` in it, and use its .venv"
    )
    raise ImportError(message) from None

_MODULES: Final = ("errors", "ir", "lit", "llvm", "llvmlite", "mlir", "training")

_HOMES: Final = {
    "ActionAdvisor": "passes.llvm_advisors",
    "AllocatorAction": "features.llvm.allocator",
    "Choice": "features.domain",
    "ColourAdvisor": "passes.llvm_advisors",
    "CompilerClient": "training.episode",
    "DISTRIBUTE": "passes.shipped.distribute",
    "DO_NOT_EVICT": "features.llvm.evict",
    "DecisionPoint": "passes.decision_point",
    "Error": "plugin.errors",
    "EvictAdvisor": "passes.llvm_advisors",
    "Feature": "features.point",
    "Flag": "features.domain",
    "HOTNESS": "passes.shipped.hotness",
    "InlineAdvisor": "passes.llvm_advisors",
    "MLIR_FUSE": "passes.mlir.fuse",
    "MLIR_INLINE": "passes.mlir.inline",
    "MLIR_INTERCHANGE": "passes.mlir.schedule.advised",
    "MLIR_PACK": "passes.mlir.schedule.advised",
    "MLIR_PARALLEL": "passes.mlir.schedule.advised",
    "MLIR_STACK": "passes.mlir.stack",
    "MLIR_TILE": "passes.mlir.tile",
    "MLIR_VECTORIZE": "passes.mlir.schedule.advised",
    "Module": "plugin.module",
    "Number": "features.domain",
    "OUTLINE": "passes.shipped.outline",
    "OUTLINER": "passes.shipped.outline",
    "Observation": "runners.python",
    "OrderAdvisor": "passes.llvm_advisors",
    "PasspilotWarning": "plugin.errors",
    "Phases": "passes.shipped.phases",
    "PipelineOptions": "plugin.compile",
    "Point": "features.point",
    "PriorityAdvisor": "passes.llvm_advisors",
    "Remarks": "plugin.compile",
    "Runner": "runners.base",
    "SIZE": "passes.shipped.size",
    "SLP": "passes.shipped.slp",
    "ScheduleAdvisor": "passes.llvm_advisors",
    "SplitAdvisor": "passes.llvm_advisors",
    "TILE_SIZES": "features.mlir.tile",
    "VECTOR_SIZES": "features.mlir.schedule",
    "TensorSpec": "features.spec",
    "UNROLL": "passes.shipped.unroll",
    "VECTORIZE": "passes.shipped.vectorize",
    "VECTOR_PLANS": "features.llvm.vectorize",
    "Vocabulary": "features.llvm.ir2vec",
    "advisor": "passes.advisor",
    "call_graph": "features.llvm.graphs",
    "check_runner": "runners.conformance",
    "control_flow_graph": "features.llvm.graphs",
    "emit": "passes.emit",
    "evaluate": "cli.evaluate",
    "feature": "features.custom",
    "find_point": "features.point",
    "function_runner": "runners.native",
    "graph_features": "features.llvm.native.graph",
    "interference_graph": "features.llvm.graphs",
    "ir2vec_features": "features.llvm.ir2vec",
    "ladder": "training.ladder.programs",
    "llvm_options": "plugin.compile",
    "make_runner": "runners.spec",
    "mir2vec_features": "features.llvm.native.mir2vec",
    "name_columns": "features.columns",
    "optimize": "passes.optimize",
    "policy_factory": "runners.python",
    "read_log": "features.log.reader",
    "runner_scheme": "runners.spec",
    "tune": "training.tuning.tune",
}

if not TYPE_CHECKING:
    __all__ = sorted((*_HOMES, *_MODULES, "__version__"))


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"passpilot.{name}")
    home = _HOMES.get(name)
    if home is None:
        message = f"module 'passpilot' has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(f"passpilot.{home}"), name)
    if isinstance(value, (type, type(__getattr__))) and value.__module__ == f"passpilot.{home}":
        value.__module__ = "passpilot"  # so that help(), repr() and tracebacks show the public name
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
