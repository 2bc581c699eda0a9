# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a command of clang compiles, and one unit of it: as bitcode before optimization, or as an object."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from passpilot.plugin.errors import CompilationError
from passpilot.training.corpus.arguments import without_outputs

DEADLINE: Final = 900.0
"""Seconds that clang may take for one unit."""

DRIVER_ONLY: Final = (
    "-save-temps",
    "--save-temps",
    "-fembed-bitcode",
    "-fno-integrated-as",
    "-no-integrated-as",
)
"""Beginnings of arguments that split a compilation into several steps."""

BEFORE_OPTIMIZATION: Final = ("-emit-llvm-bc", "-disable-llvm-passes", "-w")

_ERROR: Final = re.compile(
    r"error:|undefined reference to|multiple definition of|region `.*' overflowed|: cannot find -l"
)
"""A line that says why; GNU ld does not call it an error."""

_WORD: Final = re.compile(r'"((?:[^"\\$]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class FrontEndJob:
    """A source, or a module in LLVM's IR, that a command of clang compiles.

    Attributes:
        source: its path, as the command has it.
        language: clang's name for its language, such as ``c++``, or ``ir``.
        output: what clang would write.
        arguments: those of ``clang -cc1``, without the source, its language and the output.
    """

    source: str
    language: str
    output: str
    arguments: tuple[str, ...]

    @property
    def is_cxx(self) -> bool:
        """Whether the language is a kind of C++."""
        return "c++" in self.language

    @property
    def recorded(self) -> tuple[str, ...]:
        """The arguments that a corpus keeps; clang's -fembed-bitcode=all embeds the same ones."""
        return tuple(
            argument
            for argument in self.arguments
            if not argument.startswith("-fembed-bitcode") and not argument.startswith("-W")
        )


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """Clang as it is started for a command: its path, folder and environment."""

    compiler: str
    directory: str
    environment: Mapping[str, str]

    def jobs(self, command: Sequence[str]) -> list[FrontEndJob]:
        """The sources that a command compiles; modules, assembly and other inputs are none.

        Raises:
            CompilationError: clang does not take the command.
        """
        return [job for job in self.compilations(command) if job.language != "ir"]

    def compilations(self, command: Sequence[str]) -> list[FrontEndJob]:
        """The sources and modules that a command compiles.

        Raises:
            CompilationError: clang does not take the command.
        """
        kept = [word for word in command[1:] if not word.startswith(DRIVER_ONLY)]
        done = self._run([command[0], "-###", *kept])
        lines = done.stderr.decode("utf-8", "surrogateescape").splitlines()
        rows = [_words(line) for line in lines if line.startswith(' "')]
        return [job for row in rows if (job := _job(row)) is not None]

    def bitcode(self, job: FrontEndJob, dependencies: str = "") -> bytes:
        """The module of a source before optimization.

        Args:
            job: the source.
            dependencies: a file that gets what the source has read, for `make`; none without a name.

        Raises:
            CompilationError: clang fails or takes too long.
        """
        wanted = ("-dependency-file", dependencies, "-MT", "unit") * bool(dependencies)
        return self._compile(job, (*BEFORE_OPTIMIZATION, *wanted), "-")

    def make_object(self, job: FrontEndJob, output: str) -> None:
        """Write the object of a source or a module, and nothing else.

        Raises:
            CompilationError: clang fails or takes too long.
        """
        self._compile(job, ("-emit-obj", "-w"), output)

    def _compile(self, job: FrontEndJob, action: Sequence[str], output: str) -> bytes:
        """Compile; returns what clang writes to its standard output."""
        arguments = without_outputs(job.arguments)
        words = ["clang", *arguments, *action, "-o", output, "-x", job.language, job.source]
        return self._run(words).stdout

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        try:
            done = subprocess.run(
                words,
                executable=self.compiler,
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DEADLINE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CompilationError(f"clang: expected an end within {DEADLINE:g} s, got none") from error
        except OSError as error:
            raise CompilationError(
                f"clang: expected to run {self.compiler}, got: {error.strerror}"
            ) from error
        if done.returncode:
            raise CompilationError(
                f"clang: expected it to succeed, got {failure(done.returncode, done.stderr)}"
            )
        return done


def failure(code: int, stderr: bytes) -> str:
    """How clang failed: its first error, that of a linker which it runs, or its exit code."""
    lines = stderr.decode("utf-8", "surrogateescape").splitlines()
    said = next(filter(_ERROR.search, lines), lines[-1] if lines else "")
    return said.strip() or (f"signal {-code}" if code < 0 else f"exit code {code}")


def _words(line: str) -> list[str]:
    """The words of a line of `clang -###`, each in double quotes."""
    return [_ESCAPE.sub(r"\1", word) for word in _WORD.findall(line)]


def _job(words: list[str]) -> FrontEndJob | None:
    """The job in the words of a command; none if it makes no code."""
    if len(words) < 8 or words[1] != "-cc1" or not {"-emit-obj", "-emit-llvm-bc", "-S"} & set(words):
        return None
    *arguments, flag, language, source = words[1:]
    if flag != "-x" or "-o" not in arguments:
        return None
    place = len(arguments) - 1 - arguments[::-1].index("-o")
    output = arguments[place + 1]
    return FrontEndJob(source, language, output, (*arguments[:place], *arguments[place + 2 :]))
