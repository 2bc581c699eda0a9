# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `passpilot`: finds the subcommand's file, and turns errors into one line and an exit code.

The function of a subcommand takes the arguments and returns the exit code. It raises `UsageError` for a wrong
command line and other errors of passpilot's, and ends quietly if the reader of its output goes away.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib import import_module

from passpilot.plugin.version import MAJOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final, NoReturn

# name -> (module:function, line of --help); a module is imported when its command runs
COMMANDS: Final = {
    "opt": ("passpilot.cli.opt:main", "optimize LLVM IR, with advisors"),
    "llc": ("passpilot.cli.llc:main", "generate code, with advisors"),
    "mlir-opt": ("passpilot.cli.mlir_opt:main", "optimize MLIR, with advisors and passes in Python"),
    "cc": ("passpilot.cli.cc.main:c", f"compile C as clang-{MAJOR} does, with advisors"),
    "c++": ("passpilot.cli.cc.main:cxx", f"compile C++ as clang++-{MAJOR} does, with advisors"),
    "rustc": ("passpilot.cli.cc.rustc:main", "compile Rust as rustc does, with advisors"),
    "build": ("passpilot.cli.build:main", "run a build with cc and c++ in place of its compilers"),
    "attach": ("passpilot.cli.attach:main", "run an unmodified compiler and answer its questions"),
    "serve": ("passpilot.cli.serve:main", "serve a runner to compilers in other processes"),
    "aot": ("passpilot.cli.aot:main", "compile an ONNX model or a Python function to native code"),
    "import": ("passpilot.cli.import_model:main", "convert a policy of MLGO to an ONNX model"),
    "serve-compiler": ("passpilot.cli.serve_compiler:main", "let agents learn from compilations"),
    "corpus": ("passpilot.cli.corpus:main", "gather modules of real programs to tune and learn on"),
    "tune": ("passpilot.cli.tune:main", "search the decisions that make a program smallest"),
    "study": ("passpilot.cli.study:main", "show the trials that searches have kept, or merge them"),
    "train": ("passpilot.cli.train:main", "train a policy, from decisions to an ONNX model"),
    "eval": ("passpilot.cli.eval:main", "measure policies on the programs of a corpus"),
    "compare": ("passpilot.cli.compare:main", "compile modules with several runners and compare the results"),
    "log": ("passpilot.cli.log:main", "show decision logs, or compare two"),
    "size": ("passpilot.cli.size:main", "show what of a program is loaded, and what would make it smaller"),
    "report": ("passpilot.cli.report:main", "make an HTML page of logs and results"),
    "unwind": ("passpilot.cli.unwind:main", "compare unwind tables where a program can stop"),
    "policies": ("passpilot.cli.policies:main", "list the installed policies"),
    "features": ("passpilot.cli.features:main", "list what a model can see"),
    "plugin-path": ("passpilot.cli.plugin_path:main", "print the path of the plugin for stock compilers"),
    "cache": ("passpilot.cli.cache:main", "show or clear the cache of compilations"),
    "doctor": ("passpilot.cli.doctor:main", "show which compilers are used, and test what they can do"),
}

EXAMPLE: Final = "passpilot opt in.bc -passes='default<Oz>' --inline=python:policy.py:decide -o out.bc"


def run() -> NoReturn:
    """Be the command's process; a start makes many objects that stay, so the collector looks less often."""
    from passpilot.plugin.failures import guard_names
    from passpilot.plugin.process_end import guard_exits, guard_imports

    gc.set_threshold(50_000)
    guard_imports()
    guard_exits()
    guard_names()
    sys.exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit code is 0, 1 for an error, 2 for a wrong command line, 130 for Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    traceback = "--traceback" in arguments or "-traceback" in arguments
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt as error:
        from passpilot.plugin.process_end import is_interrupt

        if is_interrupt(error):
            _say("interrupted")
            return 130
        return _fail(_of_user(error), traceback)
    except BrokenPipeError:
        _drop_output()  # its reader has gone
        return 1
    except Exception as error:  # noqa: BLE001  (errors that are not passpilot's are raised again)
        return _fail(error, traceback)


def _drop_output() -> None:
    """Let Python not complain at its exit about what it cannot print."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "-help", "--help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] in ("-version", "--version"):
        print(version())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name.endswith("/rustc"):  # cargo's wrapper gets the path of rustc first
        name, rest = "rustc", arguments
    if name == "help":  # `passpilot help opt` is `passpilot opt --help`
        return _dispatch([*rest, "--help"])
    if name not in COMMANDS:
        from passpilot.cli.train import COMMANDS as TRAIN
        from passpilot.plugin.failures import did_you_mean

        known = [*COMMANDS, "--help", "--version", *(f"train {command}" for command in TRAIN)]
        hint = did_you_mean(name, known) or "; see passpilot --help"
        _say(f"error: expected a command among {', '.join(COMMANDS)}, got {name!r}{hint}")
        return 2
    module, _, function = COMMANDS[name][0].partition(":")
    run: Callable[[list[str]], int] = getattr(import_module(module), function)
    code = run(rest)
    sys.stdout.flush()
    return code


def usage() -> str:
    """The text of `passpilot --help`."""
    rows = "\n".join(f"  {name:16}{text}" for name, (_, text) in COMMANDS.items())
    return (
        "usage: passpilot COMMAND ...\n\nPython steers a compiler.\n\n"
        f"commands:\n{rows}\n\n"
        "  --version  passpilot's version and LLVM's\n\n"
        f"example:\n  {EXAMPLE}\n\n"
        "The exit code is 0, 1 for an error, 2 for a wrong command line, 130 for Ctrl-C. Signals that are\n"
        "ignored at the start, as with nohup or & in a script, stay ignored, also in child processes.\n\n"
        "Run `passpilot help COMMAND` for its options."
    )


def version() -> str:
    """The text of `passpilot --version`."""
    from importlib.metadata import version as installed

    from passpilot.plugin import _core

    return f"passpilot {installed('passpilot')}\n  {_core.version_text().rstrip()}"


def _of_user(error: BaseException) -> Exception:
    """The error for what the user's own code raised to end the process."""
    from passpilot.plugin.errors import PolicyError
    from passpilot.plugin.failures import describe_exception

    failure = PolicyError(f"expected your Python to return, got {describe_exception(error)}")
    failure.__cause__ = error
    return failure


def _fail(error: Exception, traceback: bool) -> int:
    from passpilot.plugin.errors import Error, PipelineError

    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        _say(f"error: expected to open another file, got: {error.strerror}; raise the limit (ulimit -n)")
        return 1
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
        _drop_output()
        _say(f"error: expected to write the output, got: {error.strerror}")
        return 1
    if isinstance(error, FileNotFoundError) and error.filename is None:  # only getcwd names none
        _say("error: expected a current folder, got one that has been removed; change into another")
        return 1
    if isinstance(error, MemoryError):
        _say("error: expected more memory, got none; raise the limit (ulimit -v), or give smaller inputs")
        return 1
    if not isinstance(error, Error):
        raise error
    if traceback:
        import traceback as printer

        printer.print_exception(error)
    # One line, even if LLVM's text has several, as its verifier's does.
    lines = filter(None, map(str.strip, str(error).splitlines()))
    _say(f"error: {' '.join(lines)}")
    if isinstance(error, PipelineError):
        print(*(f"  {line}" for line in error.excerpt.splitlines()), sep="\n", file=sys.stderr)
    return error.exit_code


def _say(text: str) -> None:
    from passpilot.plugin.failures import for_terminal

    # One write: in a parallel build, other processes write to the same stream.
    print(f"passpilot: {for_terminal(text)}\n", end="", file=sys.stderr)
