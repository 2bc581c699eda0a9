# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`check_unwind`: compares the unwind tables of two builds of the same code where the program can stop.

An unwinder looks for a row at calls (exceptions, backtraces) and at instructions that can fault (crash
reports). llvm-objdump finds these instructions; pyelftools reads the tables.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import groupby
from typing import Any, Final, NamedTuple

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.files import read_regular
from passpilot.plugin.version import MAJOR

OBJDUMP: Final = f"llvm-objdump-{MAJOR}"
DEADLINE: Final = 600.0
"""Seconds that llvm-objdump may take for a file."""

_MOST_RULES: Final = 64
"""The registers in all rows for each byte of a table; functions that save 20 registers have less than 10."""

_SECTION: Final = re.compile(r"Disassembly of section (.+):$")
_SYMBOL: Final = re.compile(r"[0-9a-f]+ <(.+)>:$")
_INSTRUCTION: Final = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*([^#<]*)")
_PREFIXES: Final = (
    "bnd",
    "data16",
    "lock",
    "notrack",
    "rep",
    "repe",
    "repne",
    "rex64",
    "xacquire",
    "xrelease",
)
_X86_FAULT: Final = re.compile(r"(i?div[bwlq]?|ud[012]|int3?|hlt|syscall|sysenter|x?lat)$")
_X86_MEMORY: Final = re.compile(r"\(|%[c-gs]s:|(^|, )-?(0x)?[0-9a-f]+(,|$)")
_X86_PLAIN: Final = re.compile(r"(lea|nop|j|prefetch|endbr|loop)")
_OTHER_CALL: Final = {"AArch64": r"blr?(a[ab]z?)?$", "RISC-V": r"(c\.)?jalr?$", "ARM": r"blx?(\.w)?$"}
_OTHER_FAULT: Final = re.compile(r"(svc|brk|udf|hlt|ecall|ebreak|unimp|bkpt)")
_OTHER_MEMORY: Final = re.compile(r"\[(?!sp)|\((?!sp)")


_NUMBER: Final = re.compile(r"-?0x[0-9a-f]+")
_PADDING: Final = re.compile(r"(data16\s+|cs\s+)*nop|xchgw? %ax, %ax")


class UnwindDifference(NamedTuple):
    """An instruction at which an unwinder finds different rows."""

    section: str
    offset: int
    """Of the instruction in its section."""
    function: str
    instruction: str
    first: str
    """The row in the first file; empty if there is none."""
    second: str

    def __str__(self) -> str:
        rows = f"expected {self.first or 'no row'}, got {self.second or 'no row'}"
        return f"{self.function} at {self.section}+{self.offset:#x}: {self.instruction}: {rows}"


class UnwindCheck(NamedTuple):
    functions: int
    """Entries in the first file's table."""
    calls: int
    """Calls that have a row in the first file."""
    faults: int
    """Other instructions there that can fault."""
    dropped: int
    """Entries of the first file that the second lacks."""
    sizes: tuple[int, int]
    """Bytes of both tables with their index."""
    differences: tuple[UnwindDifference, ...]


class _Instruction(NamedTuple):
    section: tuple[str, int]
    offset: int
    function: str
    mnemonic: str
    operands: str


class _TableEntry(NamedTuple):
    start: int
    end: int
    places: list[int]
    """Where rows begin, in their order."""
    rows: list[_UnwindRow]


class _UnwindRow:
    """How an unwinder finds the caller's frame."""

    def __init__(self) -> None:
        self.frame: tuple[Any, ...] = ()
        self.saved: dict[int, tuple[Any, ...]] = {}
        self.arguments = 0
        self.signed = False

    def copy(self) -> _UnwindRow:
        row = _UnwindRow()
        row.frame, row.saved = self.frame, dict(self.saved)
        row.arguments, row.signed = self.arguments, self.signed
        return row

    def __str__(self) -> str:
        saved = ", ".join(
            f"r{register} {' '.join(map(str, rule))}" for register, rule in sorted(self.saved.items())
        )
        more = f", {self.arguments} bytes of arguments" * bool(self.arguments) + ", signed" * self.signed
        return f"the frame at {' '.join(map(str, self.frame))}, {saved}{more}"


def check_unwind(first: str, second: str, *, at: str = "faults", fewer_entries: bool = False) -> UnwindCheck:
    """Compare the unwind tables of two objects or programs with the same code.

    Args:
        first: the ELF file whose table is taken as right.
        second: the file to check.
        at: ``faults`` for all instructions where a program can stop; ``calls`` for calls alone.
        fewer_entries: whether the second file may lack entries of functions.

    Raises:
        InputError: a file cannot be read, or their code differs.
    """
    with needs("unwind", "unwind check"):
        from elftools.elf.elffile import ELFFile  # noqa: F401
    files = _ElfTable(first), _ElfTable(second)
    tables = files[0].entries(), files[1].entries()
    starts = {(key, entry.start) for key, table in tables[0].items() for entry in table}
    calls = faults = dropped = 0
    differences = []
    for place, other in _pairs(*files):
        kind = _kind(files[0].machine, place)
        begins = (place.section, place.offset) in starts
        if not begins and (not kind or (kind == "fault" and at == "calls")):
            continue
        places = zip(tables, (place, other), strict=True)
        rows = [_row_at(table.get(there.section, ()), there.offset) for table, there in places]
        dropped += begins and rows[1] is None
        if not kind or (kind == "fault" and at == "calls"):
            continue
        if rows[0] is None and rows[1] is None:
            continue
        calls += kind == "call"
        faults += kind == "fault"
        texts = ["" if row is None else str(row) for row in rows]
        if texts[0] != texts[1] and not (fewer_entries and not texts[1]):
            text = f"{place.mnemonic} {place.operands}".strip()
            differences.append(
                UnwindDifference(place.section[0], place.offset, place.function, text, texts[0], texts[1])
            )
    sizes = files[0].table_size, files[1].table_size
    return UnwindCheck(len(starts), calls, faults, dropped, sizes, tuple(differences))


def _kind(machine: str, place: _Instruction) -> str:
    """What an unwinder may look for here: ``call``, ``fault``, or nothing."""
    name, operands = place.mnemonic, place.operands
    if machine not in ("x86", "x64"):
        if machine == "RISC-V" and re.match(r"(c\.)?jal", name) and operands.startswith("zero"):
            return ""
        if re.match(_OTHER_CALL.get(machine, "$^"), name):
            return "call"
        return "fault" if _OTHER_FAULT.match(name) or _OTHER_MEMORY.search(operands) else ""
    while name in _PREFIXES and operands:
        name, _, operands = operands.partition("\t") if "\t" in operands else operands.partition(" ")
        operands = operands.strip()
    if name.startswith("call"):
        return "call"
    if name.startswith("j"):  # through memory, as in tail calls
        return "fault" if operands.startswith("*") and not operands.startswith("*%") else ""
    memory = _X86_MEMORY.search(operands) and not _X86_PLAIN.match(name) and not name.startswith("ret")
    return "fault" if memory or _X86_FAULT.match(name) else ""


def _pairs(first: _ElfTable, second: _ElfTable) -> Iterable[tuple[_Instruction, _Instruction]]:
    """The instructions of two files with the same code, whose functions may be in another order.

    Raises:
        InputError: their code differs.
    """
    codes = list(first.instructions()), list(second.instructions())
    ordered = [[place[:4] for place in code] for code in codes]
    if ordered[0] == ordered[1] and (not first.is_object or first.code == second.code):
        return zip(*codes, strict=True)
    bodies = [_functions(file, code) for file, code in zip((first, second), codes, strict=True)]
    pairs: list[tuple[_Instruction, _Instruction]] = []
    for names, text, places in bodies[0]:
        found = [body for body in bodies[1] if body.text == text and body.names & names]
        if not found:
            where = f" for {places[0].function}" if places[0].function else ""
            raise InputError(
                f"unwind check: expected the same instructions in both files, got others in {second.path}"
                f"{where}; compile both with the same compiler and flags"
            )
        body = found[0]
        if len(found) > 1:  # functions of several units, with the same name and the same code
            bodies[1].remove(body)
        pairs += zip(places, body.places, strict=True)
    return pairs


class _FunctionBody(NamedTuple):
    names: set[str]
    text: str
    """Its instructions without padding, which depends on where it is, and without numbers."""
    places: list[_Instruction]


def _functions(file: _ElfTable, code: Iterable[_Instruction]) -> list[_FunctionBody]:
    symbols = file.symbols()
    bodies: list[_FunctionBody] = []
    for (section, function), group in groupby(code, lambda place: (place.section, place.function)):
        places = list(group)
        names, size = symbols.get((section, places[0].offset), (set(), 0))
        if size:  # what follows is padding, as int3 without a size
            places = [place for place in places if place.offset < places[0].offset + size]
        places = [place for place in places if not _PADDING.match(f"{place.mnemonic} {place.operands}")]
        while not size and len(places) > 1 and places[-1].mnemonic == "int3":
            places.pop()
        text = "\n".join(f"{place.mnemonic} {_NUMBER.sub('', place.operands)}" for place in places)
        bodies.append(_FunctionBody({function, *names}, text, places))
    return bodies


def _row_at(entries: Sequence[_TableEntry], offset: int) -> _UnwindRow | None:
    """The row at an offset in a section; none if no entry covers it."""
    number = bisect_right(entries, offset, key=lambda entry: entry.start) - 1
    if number < 0 or offset >= entries[number].end:
        return None
    entry = entries[number]
    return entry.rows[bisect_right(entry.places, offset) - 1]


@contextmanager
def _reading(path: str, what: str) -> Iterator[None]:
    """Says what pyelftools meets in a damaged file: it raises many kinds of exceptions."""
    try:
        yield
    except Exception as error:
        got = (
            str(error).partition(", got ")[2] or str(error) if isinstance(error, InputError) else repr(error)
        )
        raise InputError(f"unwind check: {path}: expected {what}, got: {got:.200}") from error


class _ElfTable:
    """An ELF file with an unwind table."""

    def __init__(self, path: str) -> None:
        from elftools.elf.elffile import ELFFile

        self.path = path
        try:
            data = read_regular(path)
        except OSError as error:
            raise InputError(f"unwind check: {path}: expected an ELF file, got: {error.strerror}") from error
        with _reading(path, "an ELF file"):
            _core.object_sections(data)  # all are within the file
            self.elf = ELFFile(BytesIO(data))
            self._find_code()

    def _find_code(self) -> None:
        self.machine: str = self.elf.get_machine_arch()
        self.is_object = self.elf["e_type"] == "ET_REL"
        self.sections: dict[int, tuple[tuple[str, int], Any]] = {}
        """Executable sections by their index: their key, and pyelftools' object."""
        seen: dict[str, int] = {}
        self.table_size = 0
        for index, section in enumerate(self.elf.iter_sections()):
            is_code = section["sh_flags"] & 4
            if section.compressed and (is_code or section.name == ".eh_frame"):
                raise InputError("a compressed section that is loaded")
            if section.name in (".eh_frame", ".eh_frame_hdr"):
                self.table_size += section.data_size
            if is_code and section.data_size:
                number = seen[section.name] = seen.get(section.name, -1) + 1
                self.sections[index] = ((section.name, number), section)

    def symbols(self) -> Mapping[tuple[tuple[str, int], int], tuple[set[str], int]]:
        """The names at each place in executable sections, and the size of what they name."""
        found: dict[tuple[tuple[str, int], int], tuple[set[str], int]] = {}
        table: Any = self.elf.get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if table else ():
            if symbol["st_shndx"] in self.sections:
                key, section = self.sections[symbol["st_shndx"]]
                place = key, symbol["st_value"] - section["sh_addr"]
                names, size = found.get(place, (set(), 0))
                found[place] = names | {symbol.name}, max(size, symbol["st_size"])
        return found

    @property
    def code(self) -> dict[tuple[str, int], bytes]:
        with _reading(self.path, "code"):
            return {key: section.data() for key, section in self.sections.values()}

    def instructions(self) -> list[_Instruction]:
        program = shutil.which(OBJDUMP)
        if program is None:
            raise InputError(f"unwind check: {OBJDUMP} is not on the PATH; sudo apt-get install llvm-{MAJOR}")
        more = ["--mattr=+all"] if self.machine == "AArch64" else []
        command = [program, "-d", "--no-show-raw-insn", *more, self.path]
        try:
            done = subprocess.run(command, capture_output=True, timeout=DEADLINE, check=False)
        except subprocess.TimeoutExpired as error:
            raise InputError(f"unwind check: {self.path}: {OBJDUMP} took over {DEADLINE:g} s") from error
        if done.returncode:
            raise InputError(f"unwind check: {self.path}: {done.stderr.decode(errors='replace').strip()}")
        with _reading(self.path, "sections that llvm-objdump finds, too"):
            return list(self._parsed(done.stdout.decode("utf-8", "surrogateescape")))

    def _parsed(self, text: str) -> Iterator[_Instruction]:
        starts = {key: section["sh_addr"] for key, section in self.sections.values()}
        seen: dict[str, int] = {}
        key, function = ("", 0), ""
        for line in text.splitlines():
            if found := _INSTRUCTION.match(line):
                address, mnemonic, operands = found.groups()
                yield _Instruction(key, int(address, 16) - starts[key], function, mnemonic, operands.strip())
            elif found := _SYMBOL.match(line):
                function = found[1]
            elif found := _SECTION.match(line):
                number = seen[found[1]] = seen.get(found[1], -1) + 1
                key = found[1], number

    def entries(self) -> Mapping[tuple[str, int], list[_TableEntry]]:
        """The entries of functions, by section and in the order of their addresses."""
        from elftools.dwarf.callframe import FDE, CallFrameInfo
        from elftools.dwarf.structs import DWARFStructs

        found: dict[tuple[str, int], list[_TableEntry]] = {}
        with _reading(self.path, "an unwind table"):
            table = self.elf.get_section_by_name(".eh_frame")
            data = table.data() if table else b""
            structs = DWARFStructs(self.elf.little_endian, 32, self.elf.elfclass // 8)
            address = table["sh_addr"] if table else 0
            frames = CallFrameInfo(BytesIO(data), len(data), address, structs, for_eh_frame=True)
            places = self._relocated() if self.is_object else {}
            left = _MOST_RULES * len(data)
            for entry in frames.get_entries():
                if not isinstance(entry, FDE) or not entry["address_range"]:
                    continue
                key, start = places[entry.offset + 8] if places else self._place(entry["initial_location"])
                rows = _UnwindRows(entry, start, left)
                left = rows.left
                found.setdefault(key, []).append(
                    _TableEntry(start, start + entry["address_range"], rows.places, rows.rows)
                )
        for entries in found.values():
            entries.sort(key=lambda entry: entry.start)
        return found

    def _place(self, address: int) -> tuple[tuple[str, int], int]:
        for key, section in self.sections.values():
            if section["sh_addr"] <= address < section["sh_addr"] + section.data_size:
                return key, address - section["sh_addr"]
        raise KeyError(hex(address))

    def _relocated(self) -> dict[int, tuple[tuple[str, int], int]]:
        """The section and offset to which each relocation of an object's table refers."""
        from elftools.elf.relocation import RelocationSection

        places = {}
        for section in self.elf.iter_sections():
            if isinstance(section, RelocationSection) and section.name.endswith(".eh_frame"):
                symbols: Any = self.elf.get_section(section["sh_link"])
                data = self.elf.get_section(section["sh_info"]).data()
                for relocation in section.iter_relocations():
                    symbol = symbols.get_symbol(relocation["r_info_sym"])
                    if symbol["st_shndx"] in self.sections:
                        at = relocation["r_offset"]
                        there = int.from_bytes(
                            data[at : at + 4], "little" if self.elf.little_endian else "big"
                        )
                        addend = relocation["r_addend"] if section.is_RELA() else there
                        places[at] = self.sections[symbol["st_shndx"]][0], symbol["st_value"] + addend
        return places


class _UnwindRows:
    """Runs the instructions of an entry.

    Source: DWARF 5, 6.4.2, and the instructions of GNU and AArch64.
    """

    def __init__(self, entry: Any, start: int, left: int) -> None:
        self.places: list[int] = []
        self.left = left
        """The registers that further rows may have."""
        self.rows: list[_UnwindRow] = []
        self._row = _UnwindRow()
        self._remembered: list[_UnwindRow] = []
        self._code, self._data = (entry.cie[f"{kind}_alignment_factor"] for kind in ("code", "data"))
        self._address = start
        self._initial = _UnwindRow()
        for instruction in entry.cie.instructions:
            self._run(*_named(instruction))
        self._initial = self._row.copy()
        for instruction in entry.instructions:
            name, arguments = _named(instruction)
            if name.startswith("advance_loc"):
                self._keep()
                self._address += arguments[0] * self._code
            else:
                self._run(name, arguments)
        self._keep()

    def _keep(self) -> None:
        self.left -= len(self._row.saved)
        if self.left < 0:
            raise InputError("a table that swells")
        self.places.append(self._address)
        self.rows.append(self._row.copy())

    def _run(self, name: str, arguments: Sequence[Any]) -> None:
        row = self._row
        if name.startswith("def_cfa"):
            self._define(name, arguments)
        elif name == "remember_state":
            self._remembered.append(row.copy())
        elif name == "restore_state":
            kept = self._remembered.pop()
            row.frame, row.saved, row.signed = kept.frame, kept.saved, kept.signed
        elif name == "GNU_args_size":
            row.arguments = arguments[0]
        elif name == "AARCH64_negate_ra_state":
            row.signed = not row.signed
        elif name.startswith("restore"):
            row.saved.pop(arguments[0], None)
            if arguments[0] in self._initial.saved:
                row.saved[arguments[0]] = self._initial.saved[arguments[0]]
        elif name != "nop":
            self._save(name, arguments)

    def _define(self, name: str, arguments: Sequence[Any]) -> None:
        frame = self._row.frame
        scale = self._data if name.endswith("_sf") else 1
        if name == "def_cfa_expression":
            self._row.frame = ("expression", *arguments[0])
        elif name == "def_cfa_register":
            self._row.frame = (f"r{arguments[0]}", frame[-1] if frame else 0)  # RISC-V's has no offset yet
        elif name.startswith("def_cfa_offset"):
            self._row.frame = (frame[0] if frame else "", arguments[0] * scale)
        else:
            self._row.frame = (f"r{arguments[0]}", arguments[1] * scale)

    def _save(self, name: str, arguments: Sequence[Any]) -> None:
        register, *rest = arguments
        kind = name.replace("_extended", "").removesuffix("_sf")
        if kind in ("offset", "val_offset"):
            rest = [rest[0] * self._data]
        elif kind in ("expression", "val_expression"):
            rest = list(rest[0])
        self._row.saved[register] = (kind, *rest)


def _named(instruction: Any) -> tuple[str, Sequence[Any]]:
    from elftools.dwarf.constants import DW_CFA

    return DW_CFA(instruction.opcode).name, instruction.args
