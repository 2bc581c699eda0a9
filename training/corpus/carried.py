# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recorded commands may carry: no flag that loads or runs code, reads data, or names an output.

The lists hold for every reader: files `NAME.cmd`, `global_command_override`, `.llvmcmd` of objects,
recordings, and `programs.json`. Flags of clang's front end are here, too; they do nothing to bitcode.
An index of ThinLTO keeps its name for MLGO's tools; `for_object` gives clang none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from passpilot.plugin import _core
from passpilot.training.corpus.arguments import OUTPUT_FLAGS, OUTPUT_STARTS, OUTPUTS
from passpilot.training.corpus.recorded.link_command import LINKER

if TYPE_CHECKING:
    from passpilot.training.corpus.layout import CorpusProgram

_PAIR: Final = re.compile(
    r"""
    -triple | -aux-triple | -darwin-target-variant-triple | -target-(cpu|feature|abi|linker-version)
    | -tune-cpu | -main-file-name | -mrelocation-model | -mcode-model | -pic-level | -mthread-model
    | -mfloat-abi | -mfpmath | -meabi | -mregparm | -msmall-data-limit | -mlimit-float-precision
    | -stack-protector(-buffer-size)?
    | -function-alignment | -ferror-limit | -fmessage-length | -f(type-)?visibility | -fconstant-string-class
    | -fbracket-depth | -fdiagnostics-(format|show-category) | -ftabstop | -mtp | -source-date-epoch
    | -fdebug-compilation-dir | -dwarf-debug-flags | -split-dwarf-file | -resource-dir | -isysroot | -[DUI]
    | -i(system|quote|dirafter|prefix|withprefix|withprefixbefore) | -internal-(externc-)?isystem
    | -internal-iframework | -c(xx)?-isystem
    """,
    re.VERBOSE,
)
"""Flags of `clang -cc1` whose value is the next argument."""

_VALUES: Final = r"""
    (align-loops|basic-block-sections|b?float16-excess-precision|c\+\+-abi|cf-protection|clang-abi-compat
    |complex-(arithmetic|range)|constexpr-(depth|steps)|default-calling-conv|denormal-fp-math(-f32)?
    |emit-dwarf-unwind|exec-charset|extend-variable-liveness|fp-(contract|eval-method|exception-behavior|model)
    |function-alignment|gnuc-version|inline-max-stacksize|lax-vector-conversions|lto|max-(tokens|type-align)
    |ms-(compatibility-version|layout-compatibility)|msc-version|new-alignment|objc-runtime|openmp-version
    |overflow-handler|pack-struct|patchable-function-entry(-offset|-section)?|profile-(instrument|update)
    |randomize-layout-seed|sanitize(?![\w-]*list)[\w-]*|stack-clash-protection|strict-flex-arrays
    |swift-async-fp|template-(backtrace-limit|depth)|tls-model|trap-function|trivial-auto-var-init[\w-]*
    |unwind-tables|veclib|visibility[\w-]*|warn-stack-size|wchar-type|winx64-eh-unwindv2
    |xray-(modes|instrumentation-bundle|instruction-threshold)|zero-call-used-regs)=[\w.,+-]*
"""
_MACHINE: Final = r"-m(?!llvm|mlir|link|debug|odule)[\w-]+(=[\w.,+-]+)?"
_FEATURE: Final = (
    r"-f(?!plugin|pass-plugin|proc-stat|rewrite|dump|save|time|cuda|module|openmp-host|experimental)[\w-]+"
)
_FLAG: Final = re.compile(
    rf"""
    -cc1 | -S | -w | -O\w* | -[DUI].+ | -W[\w+=-]* | -std=[\w+:]+ | -g(?!en-)[\w-]*(=[\w-]+)?
    | -fthinlto-index=(?!/)(?!(.*/)?\.\./).+ | -fembed-bitcode=\w+ | {_FEATURE} | -f{_VALUES}
    | -f\w+-(prefix-map|compilation-dir)=.* | {_MACHINE}
    | -emit-(obj|llvm(-bc|-uselists)?) | -pic-is-pie | -static-define | -pthread | -undef | -trigraphs
    | -pedantic(-errors)? | -nostd(inc|inc\+\+|systeminc|libinc) | -nobuiltininc
    | -disable-(free|llvm-verifier|llvm-passes|llvm-optzns|lifetime-markers|O0-optnone|red-zone)
    | -clear-ast-before-backend | -discard-value-names | -relaxed-aliasing | -vectorize-(loops|slp)
    | -(no-)?enable-noundef-analysis | -(no-)?opaque-pointers | -no-struct-path-tbaa | -no-pointer-tbaa
    | -(no-)?integrated-as | -enable-tlsdesc | -(complex-range|exception-model)=\w+ | -object-file-name=.+
    | -(debug-info|debugger|dwarf|ggnu|gpubnames|target-sdk)[\w-]*(=[\w.-]+)? | -cl-[\w=.-]+
    """,
    re.VERBOSE | re.ASCII,
)
"""Flags of `clang -cc1` that stand alone, and those whose value is in the same argument."""

_LINK: Final = re.compile(
    rf"""
    [^-@].* | -l[\w.+:-]+ | -L.+ | -T | -pthreads? | -static(-pie|-libgcc|-libstdc\+\+)? | -shared(-libgcc)?
    | --shared | -rdynamic | -r | -pie | -no-pie | -nopie | -nostdlib(\+\+)? | -nodefaultlibs | -nostartfiles
    | -nolibc | -pg? | -target | --?target=[\w.-]+ | -stdlib=[\w+]+ | --?(rt|unwind)lib=[\w-]+ | -u.* | -z
    | -arch | -rpath | -ObjC | -O\w? | --sysroot=.* | --gcc-(toolchain|install-dir)=.*
    | {_MACHINE} | {_FEATURE} | -f{_VALUES} | -f\w+-(prefix-map|compilation-dir)=.*
    | -Wl,([^-@].*|-z|--?rpath(-link)?(=.*)?|-R.*|--?soname.*|-h.*|-e[=\w]*|--?entry.*|-u\w*|--?undefined.*
      |--?require-defined.*|--?(no-)?as-needed|--?export(-[\w-]+)?(=.*)?|-E|--?dynamic-linker.*|-I.*|--?defsym.*
      |--?hash-style.*|--?build-id.*|--?eh-frame-hdr|--?wrap.*|--?version-script.*|--?dynamic-list.*
      |-O\d?|-B(symbolic[\w-]*|static|dynamic)|--?allow-[\w-]+|--?exclude-libs.*|--?sort-[\w-]+.*|-T.*|--?script.*
      |--?section-start.*|--?image-base.*|--?warn-[\w-]+|--?fatal-warnings|--?push-state|--?pop-state|--?demangle|--?relax
      |--?pie|--?gnu-unique|--?emit-relocs|-[qxXnNdgm]|-d[cp]|--?discard-[\w-]+|--?no-[\w-]+|--?color-diagnostics.*
      |--?compress-debug-sections.*|-melf\w+|--?unresolved-symbols.*|--?keep-[\w-]+|--?pack-dyn-relocs.*|--?threads.*
      |--(import|initial|max|shared|extra)-[\w-]+(=.*)?|--(stack-first|growable-table)|--(global|table)-base=\d+
      |-E[LB]|--be8|--fix-[\w-]+|--target[12]=?[\w-]+|--orphan-handling=\w+|--stub-group-size=\d+
      |--gc-sections|--icf=(all|safe|none)|--nmagic|--omagic|--(common|max)-page-size.*|--error-limit.*|--copy-dt-needed-entries|--gdb-index|--whole-archive)
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
"""Arguments of a link by clang's driver: flags, and the values and files behind them."""


def _parts(word: str) -> list[str]:
    """The arguments that the linker gets by `-Wl,A,B`, as `-Wl,A` and `-Wl,B`; any other word itself."""
    return [f"-Wl,{part}" for part in word.split(",")[1:]] if word.startswith("-Wl,") else [word]


_EMBEDS: Final = re.compile(r"-lto-embed-bitcode=[\w-]+")
_FILE: Final = re.compile(r"[^-@].*", re.DOTALL)


class Carried:
    """Collects what recorded commands carry that they may not; it is left out."""

    def __init__(self) -> None:
        self._dropped: dict[str, None] = {}

    def compilation(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """The arguments of `clang -cc1` that a corpus may carry; inputs and outputs are none of them."""
        kept: list[str] = []
        rest = iter(arguments)
        for word in rest:
            if _PAIR.fullmatch(word):
                kept += [word, next(rest, "")]
            elif word == "-mllvm":
                kept += self._llvm(next(rest, ""))
            elif word in OUTPUTS or word in ("-o", "-x"):
                next(rest, None)
            elif _FLAG.fullmatch(word):
                kept.append(word)
            elif word.startswith("-") and word not in OUTPUT_FLAGS and not word.startswith(OUTPUT_STARTS):
                self._dropped[word.partition("=")[0]] = None
        return tuple(kept)

    def _llvm(self, option: str) -> list[str]:
        if (option.isascii() and _core.is_permitted_option(option.lstrip("-"))) or _EMBEDS.fullmatch(option):
            return ["-mllvm", option]
        self._dropped[f"-mllvm {option.partition('=')[0]}"] = None
        return []

    def program(self, program: CorpusProgram) -> CorpusProgram:
        """The program with what a corpus may carry of its link; foreign inputs are files and no flags."""
        foreign = [word for word in program.foreign if _FILE.fullmatch(word)]
        arguments = [word for word in program.arguments if all(map(_LINK.fullmatch, _parts(word)))]
        for word in (*program.foreign, *program.arguments):
            if word not in foreign and word not in arguments:
                self._dropped[word.partition("=")[0]] = None
        arguments = ["-shared" if word == "--shared" else word for word in arguments]
        linker = program.linker if LINKER.fullmatch(program.linker) else ""
        return replace(program, foreign=tuple(foreign), arguments=tuple(arguments), linker=linker)

    def problem(self, who: str) -> str:
        """A line about what was left out; empty if nothing was."""
        if not self._dropped:
            return ""
        names = ", ".join(f"{name:.40}" for name in list(self._dropped)[:5])
        more = f" and {len(self._dropped) - 5} more" if len(self._dropped) > 5 else ""
        hint = "recorded commands are data; the list is in training/corpus/carried.py"
        return f"{who}: expected flags that a corpus may carry, got {names}{more}, left out; {hint}"
