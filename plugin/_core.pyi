# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Made from the built core by tools/stub.sh; a test compares the two.
"""
The native core: LLVM hosted in this process. Use it through passpilot's modules.
"""

from collections.abc import Callable, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


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

class Emitted:
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

    @property
    def name(self) -> str: ...

    @property
    def triple(self) -> str: ...

    @property
    def data_layout(self) -> str: ...

    def verify(self) -> str:
        """The verifier's complaints; empty if sound."""

    def assembly(self) -> bytes: ...

    def bitcode(self) -> bytes: ...

    def optimize(self, pipeline: str, inline: Advisor | None, options: PipelineOptions) -> list[str]: ...

    def emit(self, options: EmitOptions, evict: Advisor | None, priority: Advisor | None) -> Emitted:
        """Generates code; each advisor is asked at its point."""

class OptionKind(enum.Enum):
    UNKNOWN = 0

    FLAG = 1

    TAKES_VALUE = 2

def option_kind(name: str) -> OptionKind: ...

def parse_options(arguments: Sequence[str]) -> None: ...

def statistics() -> str: ...

def prints_pipeline() -> bool: ...

def pass_names() -> str: ...

def processor(name: str) -> tuple[str, str, str, list[str]]: ...

def target_help(triple: str) -> bool: ...

def version_text() -> str: ...

class NativeRunner:
    @staticmethod
    def constant(output: tuple[str, str, Sequence[int]], value: float) -> NativeRunner: ...

    @staticmethod
    def default(output: tuple[str, str, Sequence[int]], default: tuple[str, str, Sequence[int]]) -> NativeRunner: ...

    @staticmethod
    def random(output: tuple[str, str, Sequence[int]], domain: tuple[str, int, str, float, float], mask: tuple[str, str, Sequence[int]] | None, seed: int) -> NativeRunner: ...

    @staticmethod
    def function(inputs: Sequence[tuple[str, str, Sequence[int]]], output: tuple[str, str, Sequence[int]], evaluate: int, context: int) -> NativeRunner: ...

    @staticmethod
    def onnx(path: str, model: bytes, library: str, offered: Sequence[tuple[str, str, Sequence[int]]], output: tuple[str, str, Sequence[int]], domain: tuple[str, int, str, float, float], output_name: str, as_: str, threshold: float, map: Sequence[tuple[str, Sequence[str]]]) -> NativeRunner: ...

    @staticmethod
    def aot(path: str, offered: Sequence[tuple[str, str, Sequence[int]]], output: tuple[str, str, Sequence[int]], domain: tuple[str, int, str, float, float], output_name: str, as_: str, threshold: float, map: Sequence[tuple[str, Sequence[str]]]) -> NativeRunner: ...

    @staticmethod
    def score(scorer: NativeRunner, offered: Sequence[tuple[str, str, Sequence[int]]], output: tuple[str, str, Sequence[int]], domain: tuple[str, int, str, float, float]) -> NativeRunner: ...

    @property
    def inputs(self) -> list[tuple[str, str, list[int]]]: ...

    @property
    def output(self) -> tuple[str, str, list[int]]: ...

    def bind(self, frame: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C')]) -> None: ...

    def evaluate(self) -> int | float: ...

    def evaluate_batch(self, frames: NDArray[numpy.uint8]) -> list[int | float]: ...

    def switch_context(self, name: str) -> None: ...

class SourceLocation:
    @property
    def file(self) -> str: ...

    @property
    def function(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...

    def __repr__(self) -> str: ...

class Function:
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

class Argument:
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
    def caller(self) -> Function: ...

    @property
    def callee(self) -> Function: ...

    @property
    def arguments(self) -> list[Argument]: ...

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
        """Of the instruction: 16 per instruction, as in segments."""

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
        """Starts and ends, 16 per instruction."""

    @property
    def blocks(self) -> list[int]:
        """Numbers of the blocks in which it is live."""

    @property
    def hints(self) -> list[str]:
        """Registers that LLVM would like to give it now, best first."""

    @property
    def assigned(self) -> str | None:
        """The register that it has now, or None."""

    @property
    def is_spillable(self) -> bool: ...

    @property
    def is_local(self) -> bool: ...

    @property
    def loop_depth(self) -> int:
        """Of the deepest loop in which it is defined or used."""

    @property
    def operands(self) -> list[Operand]:
        """The operands of instructions that define or use it."""

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
        What make() gave when first called for this function's allocation; dropped at its end.
        """

    def interference(self, version: int) -> tuple[int, list[int], list[tuple[int, dict[str, object]]], list[tuple[int, int]], list[tuple[int, int]]]:
        """
        What has changed in the interference graph since a version, 0 being the empty graph: the version now, removed nodes, new and changed nodes with their attributes, removed edges, new edges.
        """

    def interference_afresh(self, by_pairs: bool) -> tuple[int, list[int], list[tuple[int, dict[str, object]]], list[tuple[int, int]], list[tuple[int, int]]]:
        """
        The whole graph, made for this call; by_pairs: by comparing each two live ranges. For tests and measurements.
        """

    @property
    def interference_work(self) -> int:
        """
        How many live ranges have been read and segments looked at until now, to follow the changes.
        """

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
        The same per register unit. LLVM's features count a live range once per unit in which it interferes.
        """

    @property
    def interferences(self) -> list[LiveRange]:
        """The live ranges that would be evicted."""

class EvictionSite:
    @property
    def candidate(self) -> LiveRange: ...

    @property
    def columns(self) -> list[Column]:
        """The registers in question, as the tensors' columns."""

    @property
    def must_evict(self) -> bool:
        """Whether the candidate cannot be spilled, so that 32 is forbidden."""

    @property
    def function(self) -> MachineFunction: ...

    @property
    def ordinal(self) -> int: ...

class PrioritySite:
    @property
    def live_range(self) -> LiveRange: ...

    @property
    def function(self) -> MachineFunction: ...

    @property
    def ordinal(self) -> int: ...

class Advisor:
    def __init__(self, point: str, native: NativeRunner | None, inputs: Sequence[tuple[str, str, Sequence[int]]], custom: Sequence[tuple[tuple[str, str, Sequence[int]], Callable[[], None]]], default_on_error: bool, limit: float, logged: bool) -> None: ...

    def set_python(self, evaluate: Callable[[], object], switch_context: Callable[[str], object]) -> None:
        """What to call for a Python runner, once it is bound to the views."""

    def views(self, writable: bool) -> dict[str, NDArray[numpy.integer | numpy.floating]]:
        """Numpy views of all tensors, by name."""

    def frame(self) -> NDArray[numpy.uint8]:
        """The runner's inputs as one block of bytes."""

    def open_log(self, fd: int) -> None:
        """Starts a decision log on a descriptor, which it takes over."""

    def close_log(self) -> bool: ...

    def default(self) -> bool | int | float:
        """LLVM's own decision for the current question."""

    @property
    def counts(self) -> dict[str, float]: ...

    @property
    def failure(self) -> tuple[str, str, str, BaseException | None] | None: ...

    @property
    def first_fallback(self) -> tuple[str, str, str, BaseException | None] | None: ...

def current_site(advisor: Advisor) -> CallSite | EvictionSite | PrioritySite: ...

def point(name: str) -> tuple[list[tuple[str, str, list[int]]], tuple[str, str, list[int]], tuple[str, str, list[int]]]:
    """The features of a decision point, its default and its advice."""
