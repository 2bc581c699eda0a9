# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Made from the built core by tools/stub.sh; a test compares the two.
"""
The native core: LLVM hosted in this process. Use it through passpilot's modules.
"""

from collections.abc import Callable, Mapping, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


class FailureKind(enum.Enum):
    """The kind of a failure at a decision."""

    MODEL = 1

    PYTHON = 2

    ADVICE = 3

    FEATURE = 4

    LOG = 5

    DEFAULT = 6

    INTERRUPT = 7

class Failure:
    """A failure at a decision."""

    @property
    def kind(self) -> FailureKind: ...

    @property
    def text(self) -> str: ...

    @property
    def where(self) -> str:
        """The decision, in the form used in messages."""

    @property
    def exception(self) -> BaseException | None:
        """The Python exception that caused it, or None."""

class PassFailure:
    """A failure in a pass in Python, which ended the compilation."""

    @property
    def name(self) -> str:
        """The pass's name."""

    @property
    def unit(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def exception(self) -> BaseException | None:
        """The Python exception that caused it, or None."""

class DecisionPlace:
    """The place of a decision."""

    @property
    def caller(self) -> str: ...

    @property
    def callee(self) -> str: ...

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...

class TensorSpec:
    """Name, numpy's type name and shape of a tensor."""

    def __init__(self, name: str, dtype: str, shape: Sequence[int]) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def shape(self) -> list[int]: ...

class Domain:
    """The answers that a decision point accepts."""

    @staticmethod
    def flag() -> Domain: ...

    @staticmethod
    def choice(count: int, mask: str) -> Domain: ...

    @staticmethod
    def number(low: float, high: float) -> Domain: ...

    @property
    def expected(self) -> str:
        """Describes the accepted answers."""

    @property
    def mask(self) -> str:
        """The mask's name; empty if there is none."""

class PointSpec:
    """
    A decision point: its own features, the default decision, the advice and its domain.
    """

    def __init__(self, name: str, features: Sequence[TensorSpec], default: TensorSpec, advice: TensorSpec, domain: Domain) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def features(self) -> list[TensorSpec]: ...

    @property
    def default(self) -> TensorSpec: ...

    @property
    def advice(self) -> TensorSpec: ...

    @property
    def domain(self) -> Domain: ...

def point(name: str) -> PointSpec:
    """Returns LLVM's decision point of that name."""

class PreservedAnalyses:
    """The LLVM analyses that are still valid."""

    @staticmethod
    def all() -> PreservedAnalyses:
        """All analyses: the pass has changed nothing that they look at."""

    @staticmethod
    def none() -> PreservedAnalyses:
        """No analysis; run() may return True instead."""

    @staticmethod
    def cfg() -> PreservedAnalyses:
        """
        Control-flow analyses only, such as the dominator tree: no block and no branch has changed.
        """

class Passes:
    """The passes in Python of one compilation."""

    def __init__(self) -> None: ...

    @staticmethod
    def of(address: int) -> Passes:
        """The passes of another compiler in this process."""

    def end(self) -> None:
        """Ends the passes of the other compiler."""

    def add(self, text: str, name: str, level: str, required: bool, run: object) -> None:
        """Adds the pass that the pipeline element `text` means."""

    @property
    def failure(self) -> PassFailure | None:
        """The failure that ended the compilation."""

    @property
    def idle(self) -> str:
        """
        A warning of passes that ran on nothing because of optnone, or an empty text.
        """

def extension_points() -> list[tuple[str, str]]: ...

class ParseOptions:
    def __init__(self) -> None: ...

    @property
    def triple(self) -> str: ...

    @triple.setter
    def triple(self, arg: str, /) -> None: ...

    @property
    def data_layout(self) -> str: ...

    @data_layout.setter
    def data_layout(self, arg: str, /) -> None: ...

    @property
    def verify(self) -> bool: ...

    @verify.setter
    def verify(self, arg: bool, /) -> None: ...

    @property
    def strip_debug(self) -> bool: ...

    @strip_debug.setter
    def strip_debug(self, arg: bool, /) -> None: ...

    @property
    def discard_value_names(self) -> bool: ...

    @discard_value_names.setter
    def discard_value_names(self, arg: bool, /) -> None: ...

    @property
    def for_codegen(self) -> bool: ...

    @for_codegen.setter
    def for_codegen(self, arg: bool, /) -> None: ...

class RemarkOptions:
    def __init__(self) -> None: ...

    @property
    def file(self) -> str: ...

    @file.setter
    def file(self, arg: str, /) -> None: ...

    @property
    def filter(self) -> str: ...

    @filter.setter
    def filter(self, arg: str, /) -> None: ...

    @property
    def format(self) -> str: ...

    @format.setter
    def format(self, arg: str, /) -> None: ...

    @property
    def with_hotness(self) -> bool: ...

    @with_hotness.setter
    def with_hotness(self, arg: bool, /) -> None: ...

class PipelineOptions:
    def __init__(self) -> None: ...

    @property
    def cpu(self) -> str: ...

    @cpu.setter
    def cpu(self, arg: str, /) -> None: ...

    @property
    def features(self) -> str: ...

    @features.setter
    def features(self, arg: str, /) -> None: ...

    @property
    def remarks(self) -> RemarkOptions: ...

    @remarks.setter
    def remarks(self, arg: RemarkOptions, /) -> None: ...

    @property
    def aa_pipeline(self) -> str: ...

    @aa_pipeline.setter
    def aa_pipeline(self, arg: str, /) -> None: ...

    @property
    def verify(self) -> bool: ...

    @verify.setter
    def verify(self, arg: bool, /) -> None: ...

    @property
    def as_clang(self) -> bool: ...

    @as_clang.setter
    def as_clang(self, arg: bool, /) -> None: ...

    @property
    def verify_each(self) -> bool: ...

    @verify_each.setter
    def verify_each(self, arg: bool, /) -> None: ...

    @property
    def debug_pass_manager(self) -> bool: ...

    @debug_pass_manager.setter
    def debug_pass_manager(self, arg: bool, /) -> None: ...

    @property
    def pass_plugins(self) -> list[str]: ...

    @pass_plugins.setter
    def pass_plugins(self, arg: Sequence[str], /) -> None: ...

    @property
    def at(self) -> list[tuple[str, str]]: ...

    @at.setter
    def at(self, arg: Sequence[tuple[str, str]], /) -> None: ...

    @property
    def decisions(self) -> str: ...

    @decisions.setter
    def decisions(self, arg: str, /) -> None: ...

    @property
    def profile(self) -> str: ...

    @profile.setter
    def profile(self, arg: str, /) -> None: ...

    @property
    def behind(self) -> str: ...

    @behind.setter
    def behind(self, arg: str, /) -> None: ...

    @property
    def functions(self) -> dict[str, list[str]]: ...

    @functions.setter
    def functions(self, arg: Mapping[str, Sequence[str]], /) -> None: ...

class FileType(enum.Enum):
    ASM = 0

    OBJ = 1

    NULL = 2

class EmitOptions:
    def __init__(self) -> None: ...

    @property
    def cpu(self) -> str: ...

    @cpu.setter
    def cpu(self, arg: str, /) -> None: ...

    @property
    def features(self) -> str: ...

    @features.setter
    def features(self, arg: str, /) -> None: ...

    @property
    def remarks(self) -> RemarkOptions: ...

    @remarks.setter
    def remarks(self, arg: RemarkOptions, /) -> None: ...

    @property
    def filetype(self) -> FileType: ...

    @filetype.setter
    def filetype(self, arg: FileType, /) -> None: ...

    @property
    def opt_level(self) -> int: ...

    @opt_level.setter
    def opt_level(self, arg: int, /) -> None: ...

    @property
    def relocation_model(self) -> str: ...

    @relocation_model.setter
    def relocation_model(self, arg: str, /) -> None: ...

    @property
    def verify(self) -> bool: ...

    @verify.setter
    def verify(self, arg: bool, /) -> None: ...

    @property
    def simplify_libcalls(self) -> bool: ...

    @simplify_libcalls.setter
    def simplify_libcalls(self, arg: bool, /) -> None: ...

    @property
    def asm_verbose(self) -> bool: ...

    @asm_verbose.setter
    def asm_verbose(self, arg: bool, /) -> None: ...

    @property
    def preserve_as_comments(self) -> bool: ...

    @preserve_as_comments.setter
    def preserve_as_comments(self, arg: bool, /) -> None: ...

    @property
    def show_mc_encoding(self) -> bool: ...

    @show_mc_encoding.setter
    def show_mc_encoding(self, arg: bool, /) -> None: ...

    @property
    def dwarf_directory(self) -> bool | None: ...

    @dwarf_directory.setter
    def dwarf_directory(self, arg: bool | None, /) -> None: ...

    @property
    def output_asm_variant(self) -> int | None: ...

    @output_asm_variant.setter
    def output_asm_variant(self, arg: int | None, /) -> None: ...

    @property
    def include_paths(self) -> list[str]: ...

    @include_paths.setter
    def include_paths(self, arg: Sequence[str], /) -> None: ...

    @property
    def printer_options(self) -> list[str]: ...

    @printer_options.setter
    def printer_options(self, arg: Sequence[str], /) -> None: ...

    @property
    def binutils_version(self) -> str: ...

    @binutils_version.setter
    def binutils_version(self, arg: str, /) -> None: ...

    @property
    def output_name(self) -> str: ...

    @output_name.setter
    def output_name(self, arg: str, /) -> None: ...

    @property
    def split_dwarf_file(self) -> str: ...

    @split_dwarf_file.setter
    def split_dwarf_file(self, arg: str, /) -> None: ...

    @property
    def split_dwarf_output(self) -> bool: ...

    @split_dwarf_output.setter
    def split_dwarf_output(self, arg: bool, /) -> None: ...

    @property
    def costs(self) -> bool: ...

    @costs.setter
    def costs(self, arg: bool, /) -> None: ...

    @property
    def frequencies(self) -> bool: ...

    @frequencies.setter
    def frequencies(self, arg: bool, /) -> None: ...

    @property
    def outlines(self) -> bool: ...

    @outlines.setter
    def outlines(self, arg: bool, /) -> None: ...

class Emitted:
    def __init__(self) -> None: ...

    @property
    def code(self) -> bytes: ...

    @property
    def split_dwarf(self) -> bytes: ...

    @property
    def costs(self) -> list[tuple[str, dict[str, tuple[int, float]], float]]:
        """Per function: kind -> (count, frequency), and the weighted sum."""

    @property
    def frequencies(self) -> dict[str, dict[int, float]]:
        """Function -> block number -> executions per call."""

class Module:
    @staticmethod
    def from_file(path: str, options: ParseOptions) -> Module: ...

    @staticmethod
    def from_memory(data: bytes, name: str, options: ParseOptions) -> Module: ...

    def verify(self) -> str:
        """The verifier's complaints; empty if valid."""

    def assembly(self) -> bytes: ...

    def bitcode(self) -> bytes: ...

    def reserve(self) -> None:
        """Reserves it for this thread."""

    def release(self) -> None: ...

    def replace(self, bitcode: bytes) -> None:
        """Replaces its contents; all views are stale."""

    def optimize(self, pipeline: str, advisors: Sequence[Advisor], passes: Passes | None, options: PipelineOptions) -> list[str]:
        """Runs a pipeline; passes in Python ask the other advisors."""

    def emit(self, options: EmitOptions, advisors: Sequence[Advisor]) -> Emitted:
        """Generates code; each advisor answers at its point."""

    @property
    def name(self) -> str: ...

    @property
    def triple(self) -> str: ...

    @property
    def data_layout(self) -> str: ...

    def run(self, pipeline: str) -> bool: ...

    def type(self, text: str) -> Type: ...

    def constant(self, text: str) -> Constant: ...

    def declare(self, name: str, type: Type) -> Function: ...

    def add_global(self, name: str, type: Type, initializer: Constant | None, is_constant: bool) -> GlobalVariable: ...

    @property
    def functions(self) -> list[Function]: ...

    @property
    def globals(self) -> list[GlobalVariable]: ...

    @property
    def aliases(self) -> list[GlobalAlias]: ...

    @property
    def ifuncs(self) -> list[GlobalValue]: ...

    @property
    def named_metadata(self) -> dict[str, list[object]]: ...

    @property
    def source_file(self) -> str: ...

    @property
    def inline_assembly(self) -> str: ...

    def function(self, name: str) -> Function | None: ...

    def global_value(self, name: str) -> GlobalValue | None: ...

class OptionKind(enum.Enum):
    UNKNOWN = 0

    FLAG = 1

    TAKES_VALUE = 2

def option_kind(name: str) -> OptionKind: ...

def parse_options(arguments: Sequence[str], forgotten: Sequence[str]) -> None: ...

def tell_fatal_errors(descriptor: int) -> None:
    """Writes the reason of LLVM's fatal error to a descriptor."""

def flush_output() -> None:
    """Writes what LLVM and C have buffered for the standard streams."""

def refuse_assembly_files() -> None:
    """From now on, assembly in modules reads no files."""

def statistics() -> str: ...

def prints_pipeline() -> bool: ...

def pass_names() -> str: ...

def processor(name: str) -> tuple[str, str, str, list[str]]: ...

def target_help(triple: str) -> bool: ...

def version_text() -> str: ...

class NativeRunner:
    @staticmethod
    def constant(output: TensorSpec, value: float) -> NativeRunner: ...

    @staticmethod
    def default(output: TensorSpec, default: TensorSpec) -> NativeRunner: ...

    @staticmethod
    def random(output: TensorSpec, domain: Domain, mask: TensorSpec | None, seed: int) -> NativeRunner: ...

    @staticmethod
    def function(inputs: Sequence[TensorSpec], output: TensorSpec, evaluate: int, context: int) -> NativeRunner: ...

    @staticmethod
    def onnx(path: str, model: bytes, library: str, offered: Sequence[TensorSpec], output: TensorSpec, domain: Domain, output_name: str, as_: str, threshold: float | None, map: Sequence[tuple[str, Sequence[str], bool]]) -> NativeRunner: ...

    @staticmethod
    def aot(path: str, offered: Sequence[TensorSpec], output: TensorSpec, domain: Domain, output_name: str, as_: str, threshold: float | None, map: Sequence[tuple[str, Sequence[str], bool]]) -> NativeRunner: ...

    @staticmethod
    def score(scorer: NativeRunner, offered: Sequence[TensorSpec], output: TensorSpec, domain: Domain) -> NativeRunner: ...

    @staticmethod
    def decisions(path: str, output: TensorSpec, default: TensorSpec) -> NativeRunner: ...

    @property
    def inputs(self) -> list[TensorSpec]: ...

    @property
    def output(self) -> TensorSpec: ...

    @property
    def warning(self) -> str: ...

    def bind(self, frame: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C')]) -> None: ...

    def evaluate(self) -> int | float: ...

    def evaluate_batch(self, frames: NDArray[numpy.uint8]) -> list[int | float]: ...

    def switch_context(self, name: str) -> None: ...

def read_decisions(path: str) -> list[tuple[str, list[tuple[str, str, int, bool, int]], str, list[str], list[tuple[str, list[str]]], list[str]]]:
    """
    The units of a decision file: their names, decisions about calls, pipelines, options, decisions about functions, and hashes.
    """

def decided_options(path: str, source: str) -> list[str]:
    """
    The options of code generation, as NAME or NAME=VALUE, that a decision file has for the module that was made of `source`.
    """

class PolicyRecipe:
    @property
    def runners(self) -> dict[str, str]: ...

    @property
    def pipeline(self) -> str: ...

    def options_for(self, triple: str) -> list[str]: ...

class PolicyRecord:
    @staticmethod
    def parse(text: str) -> PolicyRecord | None: ...

    @staticmethod
    def find(spec: str, plugin: str) -> PolicyRecord | None: ...

    @staticmethod
    def places(spec: str, plugin: str) -> list[str]: ...

    @property
    def name(self) -> str: ...

    @property
    def recipe_count(self) -> int: ...

    def who(self) -> str: ...

    def recipe(self, spec: str) -> PolicyRecipe: ...

    def runner(self, spec: str, point: str) -> str: ...

    def refusal(self, triple: str) -> str: ...

def permitted_options() -> list[str]: ...

def permitted_passes() -> list[str]: ...

def permit_pass(name: str) -> None: ...

def is_permitted_option(text: str) -> bool: ...

def expected_value(text: str) -> str:
    """
    What a permitted option expects, if `text` sets it to a value that LLVM does not take; else empty.
    """

def other_passes(pipeline: str) -> list[str]:
    """The names in a pipeline that decision files and policies may not run."""

EXPECTED_OPTION: str = ...

EXPECTED_PASS: str = ...

class SourceLocation:
    """A place in the source, from debug information."""

    @property
    def file(self) -> str:
        """The path as the debug information has it."""

    @property
    def function(self) -> str:
        """The function that the source line belongs to."""

    @property
    def line(self) -> int:
        """The line, from 1; 0 if unknown."""

    @property
    def column(self) -> int:
        """The column, from 1; 0 if unknown."""

    def __repr__(self) -> str: ...

class CallSiteFunction:
    @property
    def name(self) -> str: ...

    @property
    def is_declaration(self) -> bool: ...

    @property
    def linkage(self) -> str: ...

    @property
    def attributes(self) -> list[str]: ...

    @property
    def argument_count(self) -> int: ...

    @property
    def block_count(self) -> int: ...

    @property
    def instruction_count(self) -> int: ...

    @property
    def opcode_counts(self) -> dict[str, int]: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class CallSiteArgument:
    @property
    def index(self) -> int: ...

    @property
    def is_constant(self) -> bool: ...

    @property
    def integer(self) -> int | None: ...

    @property
    def attributes(self) -> list[str]: ...

    def __str__(self) -> str: ...

class CallSite:
    @property
    def caller(self) -> CallSiteFunction: ...

    @property
    def callee(self) -> CallSiteFunction: ...

    @property
    def arguments(self) -> list[CallSiteArgument]: ...

    @property
    def attributes(self) -> list[str]: ...

    @property
    def debug_location(self) -> SourceLocation | None: ...

    @property
    def inlined_at(self) -> list[SourceLocation]: ...

    @property
    def block_frequency(self) -> float: ...

    @property
    def loop_depth(self) -> int: ...

    @property
    def ordinal(self) -> int: ...

    def module_text(self) -> str: ...

    @property
    def text(self) -> str: ...

    def __str__(self) -> str: ...

class Operand:
    @property
    def opcode(self) -> str: ...

    @property
    def block(self) -> int: ...

    @property
    def frequency(self) -> float:
        """Executions of the block per execution of the function's entry."""

    @property
    def loop_depth(self) -> int: ...

    @property
    def is_def(self) -> bool: ...

    @property
    def is_use(self) -> bool:
        """Also true for the definition of a part, which reads the rest."""

    @property
    def position(self) -> int:
        """The instruction's position: 16 per instruction, as in segments."""

    def __str__(self) -> str: ...

class LiveRange:
    @property
    def register(self) -> str: ...

    @property
    def number(self) -> int: ...

    @property
    def register_class(self) -> str: ...

    @property
    def weight(self) -> float:
        """LLVM's spill weight; infinite if it cannot be spilled."""

    @property
    def size(self) -> int:
        """Sum of the segments' lengths; 16 per instruction."""

    @property
    def segments(self) -> list[tuple[int, int]]:
        """Pairs of start and end, 16 per instruction."""

    @property
    def blocks(self) -> list[int]:
        """The numbers of the blocks in which it is live."""

    @property
    def hints(self) -> list[str]:
        """The registers that LLVM prefers for it now, best first."""

    @property
    def assigned(self) -> str | None:
        """Its current register, or None."""

    @property
    def is_spillable(self) -> bool: ...

    @property
    def is_local(self) -> bool: ...

    @property
    def loop_depth(self) -> int:
        """The depth of the deepest loop that defines or uses it."""

    @property
    def operands(self) -> list[Operand]:
        """The operands that define or use it."""

    def __repr__(self) -> str: ...

class MachineFunction:
    @property
    def name(self) -> str: ...

    @property
    def triple(self) -> str: ...

    @property
    def block_count(self) -> int: ...

    @property
    def instruction_count(self) -> int: ...

    @property
    def register_count(self) -> int: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def kept(self, make: Callable[[], object]) -> object:
        """
        Calls make() once per allocation of this function and returns its result, which is dropped when the allocation ends.
        """

    def interference(self, version: int) -> tuple[int, list[int], list[tuple[int, dict[str, object]]], list[tuple[int, int]], list[tuple[int, int]]]:
        """
        The changes of the interference graph since a version, 0 for the empty graph: the current version, removed nodes, new and changed nodes with their attributes, removed edges, new edges.
        """

    def interference_afresh(self, by_pairs: bool) -> tuple[int, list[int], list[tuple[int, dict[str, object]]], list[tuple[int, int]], list[tuple[int, int]]]:
        """
        The whole graph, built from scratch; by_pairs: by comparing all pairs of live ranges. For tests and measurements.
        """

    @property
    def interference_work(self) -> int:
        """
        The number of live ranges read or compared so far to maintain the graph.
        """

class AllocatorSite:
    @property
    def live_range(self) -> LiveRange:
        """The live range; at ra-order that of the first column."""

    @property
    def live_ranges(self) -> list[LiveRange]:
        """The live ranges of the columns at ra-order; elsewhere empty."""

    @property
    def columns(self) -> list[str]:
        """
        What the columns stand for: "%12", "spill", "rax", "loop:3" (the region's first block).
        """

    @property
    def function(self) -> MachineFunction: ...

    @property
    def ordinal(self) -> int: ...

    def __str__(self) -> str: ...

class Column:
    @property
    def index(self) -> int: ...

    @property
    def register(self) -> str: ...

    @property
    def is_legal(self) -> bool: ...

    @property
    def is_hint(self) -> bool: ...

    @property
    def unit_interferences(self) -> list[list[LiveRange]]:
        """
        The interferences per register unit. LLVM's features count a live range once per unit in which it interferes.
        """

    @property
    def interferences(self) -> list[LiveRange]:
        """The live ranges that would be evicted."""

class EvictionSite:
    @property
    def candidate(self) -> LiveRange: ...

    @property
    def columns(self) -> list[Column]:
        """The candidate registers, one per column of the tensors."""

    @property
    def must_evict(self) -> bool:
        """Whether the candidate cannot be spilled, which forbids the answer 32."""

    @property
    def function(self) -> MachineFunction: ...

    @property
    def ordinal(self) -> int: ...

    def __str__(self) -> str: ...

class PrioritySite:
    @property
    def live_range(self) -> LiveRange: ...

    @property
    def function(self) -> MachineFunction: ...

    @property
    def ordinal(self) -> int: ...

    def __str__(self) -> str: ...

class ScheduleSite:
    @property
    def function(self) -> str:
        """The name of the function."""

    @property
    def block(self) -> str:
        """The basic block, such as %bb.2."""

    @property
    def instructions(self) -> list[str]:
        """The machine instructions of the columns, as text."""

    @property
    def opcodes(self) -> list[str]:
        """LLVM's names of the opcodes of the columns."""

    @property
    def from_top(self) -> bool:
        """
        Whether the instruction comes below those that are placed at the top of the region, else above those at its bottom.
        """

    @property
    def ordinal(self) -> int: ...

    def __str__(self) -> str: ...

class NativeFeature:
    """A feature that the core computes."""

def graph_features(nodes: int, edges: int, columns: int, hops: int) -> list[NativeFeature]:
    """
    The graph around a question of the register allocator: nodes, edges, counts, what was left out, columns.
    """

def graph_node_columns() -> list[str]:
    """What the tensor of nodes says about a live range, in order."""

def mir2vec_features(sections: Sequence[Mapping[str, Sequence[float]]]) -> list[NativeFeature]:
    """
    The vectors of the function, the candidate and the columns, by the sections of a vocabulary's file.
    """

def mir2vec_sections() -> list[str]:
    """The names of these sections, in order."""

class Advisor:
    def __init__(self, point: PointSpec, native: NativeRunner | None, inputs: Sequence[TensorSpec], custom: Sequence[tuple[TensorSpec, Callable[[], None] | NativeFeature]], default_on_error: bool, limit: float, logged: bool) -> None: ...

    def set_python(self, evaluate: Callable[[], object], switch_context: Callable[[str], object], evaluate_batch: Callable[[bytes, int], Sequence[object]] | None, any_context: bool) -> None:
        """Sets the functions of a Python runner that is bound to the views."""

    def views(self, writable: bool) -> dict[str, NDArray[numpy.integer | numpy.floating]]:
        """Returns numpy views of all tensors, by name."""

    def frame(self) -> NDArray[numpy.uint8]:
        """The runner's inputs as one block of bytes."""

    def open_log(self, fd: int) -> None:
        """Starts a decision log on a descriptor and takes ownership of it."""

    def close_log(self) -> bool: ...

    def default(self) -> bool | int | float:
        """LLVM's own decision for the current question."""

    def compute(self, feature: NativeFeature, name: str, out: NDArray[numpy.integer | numpy.floating]) -> None:
        """
        Computes a native feature for the current question into an array of its spec.
        """

    def describe_rest(self) -> None:
        """
        Computes the features that the runner did not declare; nothing between decisions.
        """

    @property
    def ordinal(self) -> int:
        """The number of the current question, or of the last."""

    @property
    def counts(self) -> dict[str, float]: ...

    @property
    def failure(self) -> Failure | None: ...

    @property
    def first_fallback(self) -> Failure | None: ...

    @property
    def unused(self) -> str: ...

    @property
    def place(self) -> DecisionPlace:
        """The place of the current question, as far as the compiler knows it."""

    def site_text(self, part: str) -> str:
        """
        The IR of the call, caller or callee of the current question, as text; empty if the compiler shows the IR itself.
        """

    def set_pass(self, stores: Sequence[tuple[str, Callable[[object], None], object]], check_names: Callable[[Mapping[str, object]], object], locate: Callable[[object], tuple[str, int, int, str, str]]) -> None:
        """
        Makes this the advisor of a pass in Python. stores: per feature its name, a function that stores it from all values if it is not a plain number or list, and the value if it is left out. check_names: raises if names are wrong. locate: gives file, line and column of a site, and caller and callee of a call; empty and 0 if unknown.
        """

    def begin(self) -> None:
        """
        Makes the calling thread the compiling one, for a compiler other than LLVM, until end().
        """

    def end(self) -> None: ...

    @property
    def session(self) -> int:
        """
        The session's address, for another compiler in this process that asks it between begin() and end().
        """

    def ask(self, values: Mapping[str, object], site: object, context: str, decide: Callable[[Mapping[str, object]], bool | int | float]) -> bool | int | float | None:
        """
        Asks for advice on a decision of a pass in Python; None after a failure.
        """

    def ask_all(self, rows: list[Mapping[str, object]], sites: list[object], contexts: Sequence[str], decide: Callable[[Mapping[str, object]], bool | int | float]) -> list[bool | int | float] | None:
        """
        Asks for advice on several independent decisions; None after a failure.
        """

def current_site(advisor: Advisor) -> object: ...

class PointLimit:
    @property
    def option(self) -> str: ...

    @property
    def value(self) -> str: ...

    @property
    def help(self) -> str: ...

    @property
    def default(self) -> float: ...

    @property
    def whole(self) -> bool: ...

class HookedPoint:
    @property
    def name(self) -> str: ...

    @property
    def function(self) -> str:
        """Our function that reaches the point: optimize or emit."""

    @property
    def question(self) -> str: ...

    @property
    def limit(self) -> PointLimit: ...

def emit_passes() -> list[tuple[str, str]]:
    """
    The points of passes that run when code generation begins, with the pipeline text of each pass.
    """

def hooked_points() -> list[HookedPoint]:
    """LLVM's decision points."""

class Type:
    """A type of LLVM's."""

    @property
    def kind(self) -> str:
        """
        "integer", "float", "pointer", "vector", "array", "struct", "function", "void", "label", ...
        """

    @property
    def bits(self) -> int:
        """Bits of a number or of a vector's element; 0 for other types."""

    @property
    def parts(self) -> list[Type]:
        """The contained types; for a function: its result, then its parameters."""

    @property
    def count(self) -> int | None:
        """The number of elements; for a scalable vector the minimum."""

    @property
    def is_vararg(self) -> bool:
        """Whether a function type takes more arguments than it lists."""

    @property
    def is_scalable(self) -> bool:
        """Whether a vector's length is a multiple known only at run time."""

    @property
    def name(self) -> str:
        """The name of a named struct."""

    @property
    def address_space(self) -> int | None:
        """The address space of a pointer; None for other types."""

    @property
    def size(self) -> int | None:
        """Bytes from one to the next in an array, if known."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

class Metadata:
    """A node of metadata that no Python value can stand for."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

class Value:
    """
    A value of LLVM's: the base of instructions, arguments, blocks and constants.
    """

    def replace_all_uses_with(self, other: Value) -> None:
        """
        Replaces an instruction or argument by a value of its type that is computed before every use.
        """

    @property
    def type(self) -> Type:
        """The type of the value."""

    @property
    def name(self) -> str:
        """The name; empty if it has none."""

    @property
    def users(self) -> list[Value]:
        """The values that use it, once per use."""

    @property
    def is_valid(self) -> bool:
        """False once the value has been erased."""

    @property
    def module(self) -> object:
        """The passpilot.Module."""

    @property
    def as_operand(self) -> str:
        """The value as a printed operand: "i32 %x"."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

class Argument(Value):
    """A formal argument of a function."""

    def add_attribute(self, text: str) -> None:
        """Adds one attribute in assembly syntax: "noalias"."""

    def remove_attribute(self, name: str) -> None:
        """Removes an attribute by its name."""

    @property
    def index(self) -> int:
        """The position among the arguments, from 0."""

    @property
    def function(self) -> Function:
        """The function that takes the argument."""

    @property
    def attributes(self) -> list[str]:
        """The attributes, in assembly syntax."""

class Constant(Value):
    """A constant, or another value that is known before the program runs."""

    @property
    def integer(self) -> int | None:
        """The value of an integer: signed, and i1 true as 1; else None."""

    @property
    def number(self) -> float | None:
        """A floating-point constant, rounded to double."""

    @property
    def data(self) -> bytes | None:
        """
        The bytes of an array or vector of plain numbers, in the byte order of this machine.
        """

    @property
    def opcode(self) -> str | None:
        """The opcode of a constant expression."""

    @property
    def operands(self) -> list[Value]:
        """The operands of a constant expression or an aggregate."""

    @property
    def is_null(self) -> bool:
        """Whether all its bits are zero."""

    @property
    def is_undef(self) -> bool:
        """Whether it is undef or poison."""

    @property
    def is_poison(self) -> bool:
        """Whether it is poison."""

class GlobalValue(Constant):
    """A global: a function, a variable, an alias or an ifunc."""

    def erase(self) -> None:
        """Erases it; it must have no uses and be invisible outside the module."""

    @property
    def linkage(self) -> str:
        """The assembly's word; "external" if there is none."""

    @linkage.setter
    def linkage(self, arg: str, /) -> None: ...

    @property
    def visibility(self) -> str:
        """"default", "hidden" or "protected"."""

    @visibility.setter
    def visibility(self, arg: str, /) -> None: ...

    @property
    def is_declaration(self) -> bool:
        """Whether another module defines it."""

    @property
    def value_type(self) -> Type:
        """The type of the value at the address; `type` is the address's."""

    @property
    def is_dso_local(self) -> bool:
        """Whether it resolves within the linked file."""

    @property
    def is_thread_local(self) -> bool:
        """Whether every thread has its own."""

    @property
    def unnamed_addr(self) -> str:
        """"unnamed_addr", "local_unnamed_addr" or empty."""

    @property
    def section(self) -> str:
        """The section in the object file; empty for the default."""

    @property
    def comdat(self) -> str:
        """The name of its comdat, or empty."""

    @property
    def alignment(self) -> int | None:
        """The explicit alignment in bytes, or None."""

    @property
    def metadata(self) -> list[tuple[str, object]]:
        """
        Pairs of kind and value, without debug information; a kind may occur several times.
        """

class GlobalVariable(GlobalValue):
    """A global variable."""

    @property
    def initializer(self) -> Constant | None:
        """The initial value; None for a declaration."""

    @property
    def is_constant(self) -> bool:
        """Whether the program never writes it."""

    @property
    def is_externally_initialized(self) -> bool:
        """Whether its value may change before the program starts."""

    @property
    def attributes(self) -> list[str]:
        """The attributes, in assembly syntax."""

class GlobalAlias(GlobalValue):
    """Another name for a global."""

    @property
    def aliasee(self) -> Constant:
        """What the alias stands for."""

class Function(GlobalValue):
    """A function, defined or declared."""

    @property
    def blocks(self) -> list[BasicBlock]:
        """The blocks, in order; empty for a declaration."""

    @property
    def entry_block(self) -> BasicBlock | None:
        """The first block; None for a declaration."""

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions of all blocks, in order."""

    @property
    def call_sites(self) -> list[CallBase]:
        """The calls in it, including those of intrinsics."""

    @property
    def callers(self) -> list[Function]:
        """The functions that call it directly."""

    @property
    def block_count(self) -> int:
        """The number of blocks."""

    @property
    def instruction_count(self) -> int:
        """The number of instructions."""

    @property
    def opcode_counts(self) -> dict[str, int]:
        """The number of instructions of each opcode, by its name."""

    @property
    def entry_count(self) -> int | None:
        """How often it is entered, according to the profile."""

    @property
    def loops(self) -> list[Loop]:
        """The loops, outer before inner ones."""

    @property
    def properties(self) -> dict[str, int]:
        """LLVM's function properties, by LLVM's names."""

    def alias(self, a: Value, b: Value, size_a: int | None = None, size_b: int | None = None) -> str:
        """
        Whether two pointers alias: "no", "may", "partial" or "must". Sizes are in bytes, None if unknown.
        """

    def run(self, pipeline: str) -> bool:
        """Runs LLVM's function passes on it; returns whether any changed it."""

    def skip(self, pass_name: str) -> None:
        """
        Lets LLVM skip one of its function passes on it, such as "slp-vectorizer", for the rest of the compilation. Passes that LLVM requires run all the same.
        """

    def add_attribute(self, text: str) -> None:
        """
        Adds one attribute in assembly syntax: "noinline", "\\"key\\"=\\"value\\"".
        """

    def remove_attribute(self, name: str) -> None:
        """Removes an attribute by its name."""

    def add_return_attribute(self, text: str) -> None:
        """Adds an attribute of the result."""

    def remove_return_attribute(self, name: str) -> None:
        """Removes one of the result's attributes."""

    def set_metadata(self, kind: str, value: Sequence[object] | Metadata | None) -> None:
        """Sets the attachment of a kind; None removes it."""

    def add_block(self, name: str = '') -> BasicBlock:
        """Appends a block that holds `unreachable`."""

    def clone(self, name: str) -> Function:
        """Makes a copy with internal linkage."""

    @property
    def arguments(self) -> list[Argument]:
        """The formal arguments."""

    @property
    def return_type(self) -> Type:
        """The type of the returned value."""

    @property
    def attributes(self) -> list[str]:
        """The attributes of the function itself, in assembly syntax."""

    @property
    def return_attributes(self) -> list[str]:
        """The attributes of the returned value, in assembly syntax."""

    @property
    def is_vararg(self) -> bool:
        """Whether it takes more arguments than it declares."""

    @property
    def is_intrinsic(self) -> bool:
        """Whether it is one of LLVM's intrinsics."""

    @property
    def gc(self) -> str:
        """The garbage collector's name; empty if it has none."""

    @property
    def personality(self) -> Value | None:
        """The personality function for exceptions; None if it has none."""

    @property
    def calling_convention(self) -> str:
        """The assembly's word; "ccc" if there is none."""

    @calling_convention.setter
    def calling_convention(self, arg: str, /) -> None: ...

class BasicBlock(Value):
    """A basic block: instructions that run one after the other."""

    @property
    def loop(self) -> Loop | None:
        """The innermost loop that contains it."""

    @property
    def loop_depth(self) -> int:
        """How many loops the block is in."""

    def dominates(self, other: BasicBlock) -> bool:
        """
        Whether it dominates another; every block dominates itself and all unreachable blocks.
        """

    @property
    def immediate_dominator(self) -> BasicBlock | None:
        """The immediate dominator; None for the entry and unreachable blocks."""

    @property
    def frequency(self) -> float:
        """Executions per execution of the entry block, as LLVM estimates."""

    def probability_to(self, successor: BasicBlock) -> float:
        """The probability that the block goes on to a successor, 0 to 1."""

    def erase(self) -> None:
        """Erases the block, which must have no predecessors."""

    def set_branch(self, to: BasicBlock) -> None:
        """Replaces the terminator by a branch."""

    def set_conditional_branch(self, condition: Value, if_true: BasicBlock, if_false: BasicBlock) -> None:
        """Replaces the terminator by a conditional branch."""

    def set_return(self, value: Value | None = None) -> None:
        """Replaces the terminator by a return; None returns void."""

    def set_unreachable(self) -> None:
        """Replaces the terminator by "unreachable"."""

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions, in order."""

    @property
    def terminator(self) -> Instruction:
        """The last instruction; None in a block that is not finished."""

    @property
    def predecessors(self) -> list[BasicBlock]:
        """The blocks without duplicates, however many edges there are."""

    @property
    def successors(self) -> list[BasicBlock]:
        """The blocks without duplicates, however many edges there are."""

    @property
    def function(self) -> Function:
        """The function that the block belongs to."""

    @property
    def is_entry(self) -> bool:
        """Whether the function begins with this block."""

class Instruction(Value):
    """An instruction."""

    @property
    def opcode(self) -> str:
        """The assembly's word: "add", "call", "br", ..."""

    @property
    def operands(self) -> list[Value]:
        """The operands; of a call: arguments, bundle operands, callee."""

    @property
    def flags(self) -> list[str]:
        """"nsw", "inbounds", "fast", "volatile", ... as printed."""

    @property
    def is_terminator(self) -> bool:
        """Whether it ends a block."""

    @property
    def may_read(self) -> bool:
        """Whether it may read memory."""

    @property
    def may_write(self) -> bool:
        """Whether it may write memory."""

    @property
    def has_side_effects(self) -> bool:
        """Whether it may write memory, not return, or throw."""

    @property
    def block(self) -> BasicBlock:
        """The block that the instruction is in."""

    @property
    def function(self) -> Function:
        """The function that the instruction is in."""

    @property
    def next(self) -> Instruction | None:
        """The next instruction in the block, or None."""

    @property
    def previous(self) -> Instruction | None:
        """The previous instruction in the block, or None."""

    @property
    def debug_location(self) -> SourceLocation | None:
        """The source place; None without debug information."""

    @property
    def inlined_at(self) -> list[SourceLocation]:
        """The calls it was inlined through, innermost first."""

    @property
    def metadata(self) -> dict[str, object]:
        """The attachments by kind, without the debug location."""

    @property
    def predicate(self) -> str | None:
        """The predicate of a comparison: "slt", "oeq", ..."""

    @property
    def incoming(self) -> list[tuple[Value, BasicBlock]]:
        """The (value, predecessor) pairs of a phi; else empty."""

    @property
    def cases(self) -> list[tuple[int, BasicBlock]]:
        """The cases of a switch without the default; else empty."""

    @property
    def indices(self) -> list[int]:
        """The indices of extractvalue and insertvalue; else empty."""

    @property
    def access_type(self) -> Type | None:
        """The type that an alloca, load, store or getelementptr accesses."""

    @property
    def alignment(self) -> int | None:
        """The alignment of an alloca, load or store, in bytes."""

    @property
    def ordering(self) -> str:
        """The memory ordering of an atomic instruction; else empty."""

    def dominates(self, other: Instruction) -> bool:
        """Whether every way to the other instruction comes through this one."""

    def cost(self, kind: str = 'throughput') -> int | None:
        """
        The target's cost, None if it has no such instruction; kind: "throughput", "latency", "code-size" or "size-and-latency".
        """

    def erase(self) -> None:
        """Erases the instruction, which must have no users and be no terminator."""

    def move_before(self, other: Instruction) -> None:
        """Moves the instruction before another one of its function."""

    def set_incoming(self, block: BasicBlock, value: Value) -> None:
        """Replaces the value that a phi has from a predecessor."""

    def split_before(self, name: str = '') -> BasicBlock:
        """
        Splits the block before it; returns the new block, which begins with it.
        """

    def set_metadata(self, kind: str, value: Sequence[object] | Metadata | None) -> None:
        """Sets the attachment of a kind; None removes it."""

class InlineCost:
    """LLVM's estimate for a call site."""

    @property
    def cost(self) -> int | None:
        """The cost; None if LLVM always or never inlines the call."""

    @property
    def threshold(self) -> int | None:
        """The cost below which LLVM inlines the call."""

    @property
    def is_always(self) -> bool:
        """Whether LLVM inlines the call whatever it costs."""

    @property
    def is_never(self) -> bool:
        """Whether LLVM must not or will not inline the call."""

    @property
    def reason(self) -> str | None:
        """LLVM's reason, if it gives one."""

    def __bool__(self) -> bool: ...

class CallBase(Instruction):
    """A call, invoke or callbr."""

    def inline(self) -> None:
        """Replaces the call by the callee's body."""

    def add_attribute(self, text: str) -> None:
        """Adds one attribute of the call, in assembly syntax."""

    def remove_attribute(self, name: str) -> None:
        """Removes an attribute of the call by its name."""

    def add_argument_attribute(self, index: int, text: str) -> None:
        """Adds an attribute of one argument, in assembly syntax."""

    def remove_argument_attribute(self, index: int, name: str) -> None:
        """Removes an attribute of one argument by its name."""

    @property
    def inline_cost(self) -> InlineCost:
        """The cost of a direct call of a function with a body."""

    @property
    def callee(self) -> Function | None:
        """
        The directly called function, if its type matches the call's; else None.
        """

    @property
    def called_operand(self) -> Value:
        """What is called: a function, a pointer, or inline assembly."""

    @property
    def caller(self) -> Function:
        """The function that the call is in."""

    @property
    def function_type(self) -> Type:
        """The type of the called function."""

    @property
    def arguments(self) -> list[Value]:
        """The arguments, without bundle operands and callee."""

    @property
    def attributes(self) -> list[str]:
        """The attributes of the call itself, in assembly syntax."""

    @property
    def return_attributes(self) -> list[str]:
        """The attributes of the returned value, in assembly syntax."""

    def argument_attributes(self, index: int) -> list[str]:
        """The attributes of an argument, in assembly syntax."""

    @property
    def calling_convention(self) -> str:
        """The assembly's word; "ccc" if there is none."""

    @property
    def tail_kind(self) -> str:
        """"tail", "musttail", "notail" or empty."""

    @property
    def is_indirect(self) -> bool:
        """Whether a pointer is called that is no known function."""

    @property
    def is_inline_asm(self) -> bool:
        """Whether inline assembly is called."""

class Loop:
    """A natural loop."""

    @property
    def header(self) -> BasicBlock:
        """The block through which the loop is entered."""

    @property
    def function(self) -> Function:
        """The function that the loop is in."""

    @property
    def blocks(self) -> list[BasicBlock]:
        """The blocks, including those of inner loops; the header first."""

    @property
    def latches(self) -> list[BasicBlock]:
        """The blocks that branch back to the header."""

    @property
    def exiting_blocks(self) -> list[BasicBlock]:
        """The blocks inside that may leave the loop."""

    @property
    def exit_blocks(self) -> list[BasicBlock]:
        """The blocks outside that it branches to."""

    @property
    def preheader(self) -> BasicBlock | None:
        """The only block that enters the loop, if there is one."""

    @property
    def parent(self) -> Loop | None:
        """The loop around it; None for an outermost loop."""

    @property
    def subloops(self) -> list[Loop]:
        """The loops directly inside."""

    @property
    def depth(self) -> int:
        """1 for an outermost loop."""

    def set_metadata(self, value: Sequence[object] | None) -> None:
        """(..., ("llvm.loop.unroll.count", 4)); None removes it."""

    @property
    def trip_count(self) -> int | None:
        """The header's executions per entry, if a known constant."""

    @property
    def max_trip_count(self) -> int | None:
        """The upper bound of trip_count, if known."""

    @property
    def trip_multiple(self) -> int:
        """A number that divides the trip count; 1 if none is known."""

    @property
    def backedge_taken_count(self) -> str | None:
        """LLVM's expression for trip count - 1, if it has one."""

    @property
    def vectorization(self) -> Vectorization | None:
        """
        What LLVM's vectorizer knows of an innermost loop; None if it cannot vectorize it.
        """

    @property
    def distribution(self) -> Distribution | None:
        """
        What LLVM would make of an innermost loop by distributing it; None if it cannot.
        """

    @property
    def metadata(self) -> tuple[object, ...] | None:
        """The llvm.loop node: itself as `...`, then its properties."""

    def __repr__(self) -> str: ...

    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

class Vectorization:
    """What LLVM's vectorizer knows of a loop."""

    @property
    def width(self) -> int:
        """The vectorization factor that LLVM would choose; 1 for none."""

    @property
    def interleave(self) -> int:
        """The interleave count that LLVM would choose; 1 for none."""

    @property
    def is_exact(self) -> bool:
        """
        Whether a width above 1 may change results: floating-point operations would be done in another order.
        """

    @property
    def safe_bits(self) -> int | None:
        """
        The largest vector that dependences between iterations allow, in bits; None for any.
        """

    @property
    def register_bits(self) -> int:
        """The size of the target's vector registers; 0 if it has none."""

    @property
    def narrowest_bits(self) -> int:
        """The narrowest type of loads, stores and reductions, in bits."""

    @property
    def widest_bits(self) -> int:
        """The widest type of loads, stores and reductions, in bits."""

    @property
    def inductions(self) -> int:
        """Induction variables."""

    @property
    def reductions(self) -> int:
        """Values such as sums and maxima."""

    @property
    def recurrences(self) -> int:
        """Values that an iteration takes from the one before."""

    @property
    def pointer_checks(self) -> int:
        """Pairs of pointers to compare before the loop."""

    @property
    def assumptions(self) -> int:
        """Other conditions to check before the loop."""

    @property
    def masked_blocks(self) -> int:
        """Blocks that run in some iterations only."""

    @property
    def early_exit(self) -> bool:
        """Whether data decide when the loop ends."""

    @property
    def consecutive(self) -> int:
        """Loads and stores whose address goes up by their size."""

    @property
    def reversed(self) -> int:
        """Loads and stores whose address goes down by their size."""

    @property
    def strided(self) -> int:
        """Loads and stores whose address changes by another constant."""

    @property
    def invariant(self) -> int:
        """Loads and stores whose address does not change."""

    @property
    def irregular(self) -> int:
        """Loads and stores whose address changes in another way."""

    @property
    def bytes(self) -> int:
        """
        How far all addresses together move per iteration, in bytes; irregular ones count with their size.
        """

class Distribution:
    """What LLVM would make of a loop by distributing it."""

    @property
    def dependences(self) -> int:
        """Dependences between loads and stores."""

    @property
    def backward(self) -> int:
        """Those that may point backward, which forbid vectorization."""

    @property
    def parts(self) -> int:
        """The loops that it becomes."""

    @property
    def vectorizable(self) -> int:
        """The parts that LLVM can vectorize."""

    @property
    def vectorized(self) -> int:
        """The parts that LLVM would vectorize."""

    @property
    def before(self) -> int:
        """Instructions of the loop."""

    @property
    def after(self) -> int:
        """Instructions of all parts together."""

    @property
    def is_checked(self) -> bool:
        """Whether the parts run only if a check before them allows it."""

class IRBuilder:
    """Inserts instructions before a given one, with its debug location."""

    def __init__(self, before: Instruction) -> None: ...

    def binary(self, opcode: str, a: Value, b: Value, name: str = '') -> Instruction:
        """Inserts "add", "fmul", "shl", ... of two values of one type."""

    def compare(self, predicate: str, a: Value, b: Value, name: str = '') -> Instruction:
        """
        Inserts "slt", "eq", ... of integers or pointers; "olt", ... of floating-point numbers.
        """

    def cast(self, opcode: str, value: Value, type: Type, name: str = '') -> Instruction:
        """Inserts "zext", "trunc", "sitofp", "bitcast", ..."""

    def select(self, condition: Value, a: Value, b: Value, name: str = '') -> Instruction:
        """Inserts a choice between two values of one type."""

    def phi(self, type: Type, incoming: Sequence[tuple[Value, BasicBlock]], name: str = '') -> Instruction:
        """
        Inserts a phi at the beginning of the block, with one value from each predecessor.
        """

    def alloca(self, type: Type, name: str = '') -> Instruction:
        """Inserts a place on the stack; in a loop, each time a new one."""

    def load(self, type: Type, pointer: Value, name: str = '') -> Instruction:
        """Inserts a load of a type."""

    def store(self, value: Value, pointer: Value) -> Instruction:
        """Inserts a store."""

    def getelementptr(self, type: Type, pointer: Value, indices: Sequence[Value], name: str = '') -> Instruction:
        """Inserts the computation of an address from a type and indices."""

    def call(self, callee: Function, arguments: Sequence[Value], name: str = '') -> CallBase:
        """Inserts a direct call."""

class IR2VecVocabulary:
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def embed(self, function: Function, flow_aware: bool) -> list[float]: ...

    def embed_loop(self, loop: Loop, flow_aware: bool) -> list[float]: ...

    def embed_module(self, module: Module, flow_aware: bool) -> list[float]: ...

def ir2vec_features(vocabulary: IR2VecVocabulary, flow_aware: bool) -> list[NativeFeature]:
    """The vectors of a call site's caller and callee."""

def ir2vec_entities() -> list[tuple[str, str]]:
    """
    The entities that a vocabulary has vectors for, in LLVM's order: pairs of section and key.
    """

def object_symbols(data: bytes) -> list[tuple[str, int, int, int, str, str, bool]]:
    """
    Names, sizes, addresses, numbers and names of sections, source files, and whether other files cannot see it, of the symbols that a file defines.
    """

def unit_ranges(data: bytes) -> list[tuple[int, int, str]]:
    """
    Starts and ends of addresses, and the source files that they are from, of an ELF program; crashes where debug information is damaged.
    """

def demangle(name: str) -> str:
    """A symbol as source text of C++, Rust or D."""

def archive_members(data: bytes) -> list[tuple[str, bytes]]:
    """
    Names and bytes of an archive's members; those of a thin one have none.
    """

def object_sections(data: bytes) -> list[tuple[str, int, bytes]]:
    """Names, flags and bytes of the sections of an ELF object."""

def object_parts(data: bytes) -> list[tuple[str, int, bool, bool]]:
    """
    Names and sizes of the sections of an ELF, COFF, Mach-O or wasm file, whether they are machine code, and whether they are loaded.
    """

def object_sizes(data: bytes) -> tuple[int, int]:
    """
    The bytes of machine code, and of all that is loaded, of an ELF, COFF, Mach-O or wasm file.
    """

def object_functions(data: bytes) -> list[tuple[str, int, bool, int]]:
    """
    Names and sizes of the functions that an object defines, whether they are local, and the bytes of their unwind entries, tables and padding.
    """

def zstd_size(data: bytes) -> int:
    """The bytes of data after zstd -19."""
