# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Options`: reads the options of `passpilot cc` from the command line and the environment.

An option reaches the plugin as its variable, `PASSPILOT_` and the name in capitals. A variable with several
values separates them by semicolons. A flag on the command line replaces its variable.
"""

from __future__ import annotations

import os

from passpilot.cli.cc.clang_arguments import WITH_VALUE
from passpilot.cli.cc.variables import refuse_misspelt
from passpilot.cli.options_table import FILES, OF_OTHERS, RUNNERS, SCHEMES, OptionRow, options_of
from passpilot.features.catalogue import CHANGING, EMIT_PASSES, HOOKED
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.numbers import finite_number, whole_number

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

OPTIONS: Final[Mapping[str, OptionRow]] = {row.name: row for row in options_of("cc") if row.kind != "flag"}

FLAGS: Final[Mapping[str, OptionRow]] = {row.name: row for row in options_of("cc") if row.kind == "flag"}

_WIDTH: Final = 72
"""The columns of what a help says about an option."""

_FILES: Final = {"--decisions": ".decisions", "--load": ".py"}
"""How the files of options end, which a folder may hold in place of a model."""

_HELP: Final = """\
usage: passpilot {name} [option ...] [any argument of {clang} ...]

Compile and link as {clang} does, with advisors.

options:
{rows}

Every option is also a variable, such as PASSPILOT_ON_ERROR; options win. All other arguments are clang's.

{runners}

example:
  make CC="passpilot cc --inline=onnx:$PWD/model.onnx --log=$PWD/logs" """


def help_text(name: str, clang: str) -> str:
    """The text of --help."""
    more = f"show this text; `passpilot {name} -- --help` shows clang's"
    rows = "\n".join(option_rows(more))
    return _HELP.format(name=name, clang=clang, rows=rows, runners=RUNNERS).rstrip()


def option_rows(more: str = "show this text", but: Sequence[str] = ()) -> list[str]:
    """The lines about the options in a help; `more` is that of --help, and `but` those left out."""
    from textwrap import wrap  # only helps need it

    known = [
        (row.name, *row.said("cc")) for row in (*OPTIONS.values(), *FLAGS.values()) if row.name not in but
    ]
    said = [(f"--{name}{'=' * bool(value)}{value}", text) for name, value, text in known]
    return [
        f"  {flag if not number else '':26}{line}"
        for flag, text in (*said, ("--help", more))
        for number, line in enumerate(wrap(text, _WIDTH, break_on_hyphens=False))
    ]


class Options:
    """The options of `passpilot cc`; `rest` has clang's arguments.

    Raises:
        UsageError: an option or its value is wrong.
        InputError: a file that an option names is missing.
    """

    def __init__(self, command: str, argv: Sequence[str], variables: Mapping[str, str] = os.environ) -> None:
        self.rest: list[str] = []
        self.help = self.stats = self.traceback = False
        self._command, self._variables = command, variables
        self._given: dict[str, list[str]] = {}
        self._where: dict[str, str] = {}
        self._split(argv)
        self._take_environment()
        for name, texts in self._given.items():
            for text in texts if OPTIONS[name].several else texts[-1:]:
                self._check(name, text)

    def _split(self, argv: Sequence[str]) -> None:
        rest = iter(argv)
        for argument in rest:
            if argument == "--":
                self.rest += rest if not self.rest else ("--", *rest)
            elif argument[2:] in OPTIONS and argument.startswith("--"):  # --inline RUNNER
                following = next(rest, "-")
                self._is_ours(argument[2:] + ("" if following.startswith("-") else f"={following}"))
            elif not argument.startswith("--") or not self._is_ours(argument[2:]):
                self.rest.append(argument)
                if argument in WITH_VALUE and (value := next(rest, None)) is not None:
                    self.rest.append(value)

    def _is_ours(self, option: str) -> bool:
        name, _, value = option.partition("=")
        if name in OPTIONS:
            if not value:
                wanted = f"--{name}={OPTIONS[name].said('cc')[0]}"
                raise self._wrong(f"--{name}", wanted, "no value")
            self._put(name, value, f"--{name}")
        elif option == "help" or option in FLAGS:
            self.help |= option == "help"
            self.stats |= option == "stats"
            self.traceback |= option == "traceback"
        elif hint := self._meant(name):
            raise UsageError(
                f"{self._command}: --{option}: expected an option of {self._command} or clang{hint}"
            )
        else:
            return False
        return True

    def _meant(self, name: str) -> str:
        """What to say of an option that is none of ours, but a part of one or nearly one."""
        if len(name) <= 2:
            return ""
        from difflib import get_close_matches  # clang's own options with two dashes are rare

        parts = [known for known in OPTIONS if known.startswith(name)]
        near = get_close_matches(name, OPTIONS, 1, 0.81)  # --unwindlib is clang's
        if found := next(iter(near or parts), ""):
            return f"; did you mean '--{found}'?"
        if name not in OF_OTHERS:  # owners() imports all commands
            return ""
        from passpilot.cli.owners import owners

        return f", got one of {owners(name, self._command)}"

    def _put(self, name: str, value: str, where: str) -> None:
        """Store a value; --advise for one of LLVM's points counts as that point's own option."""
        if name == "advise":
            point, equals, runner = value.partition("=")
            if not equals or not point or not runner:
                raise self._wrong(where, "POINT=RUNNER", value)
            if point in HOOKED:
                name, value = point, runner
        if where.startswith("-") or not self._where.get(name, "").startswith("-"):
            self._given.setdefault(name, []).append(value)
            self._where[name] = where

    def _take_environment(self) -> None:
        refuse_misspelt(self._command, self._variables)
        for name, option in OPTIONS.items():
            text = self._variables.get(option.variable, "")
            for value in text.split(";") if option.several else [text]:
                if value:
                    self._put(name, value, option.variable)
        self.stats |= self._variables.get(FLAGS["stats"].variable, "0") not in ("", "0")

    def _check(self, name: str, text: str) -> None:
        option, where = OPTIONS[name], self._where[name]
        if option.several and ";" in text:
            raise self._wrong(where, "a value without ';' (in the values of a runner it is %3B)", text)
        if option.kind == "file" or name == "load":
            self._check_file(where, text)
        elif name in HOOKED or name == "advise":
            self._check_runner(where, text.partition("=")[2] if name == "advise" else text)
        elif option.choices and text not in option.choices:
            from passpilot.plugin.failures import did_you_mean

            hint = did_you_mean(text, option.choices)
            raise self._wrong(where, " or ".join(option.choices), text, hint)
        elif name == "record":
            self._check_recording(where, text)
        elif option.kind == "policy":
            self._check_policy(where, text)
        elif name == "best-of":
            self._check_variants(where, text)
        elif name == "at" and "=" not in text:
            raise self._wrong(where, option.value, text)
        elif option.kind in ("seconds", "number", "count"):
            self._check_number(where, text, positive=option.kind == "seconds")

    def _check_variants(self, where: str, text: str) -> None:
        from passpilot.cli.cc.best_of import VARIANTS

        if whole_number(text) not in range(len(VARIANTS) + 1):
            raise self._wrong(where, f"a number of variants up to {len(VARIANTS)}", text)

    def _check_runner(self, where: str, text: str) -> None:
        scheme, _, target = text.partition("?")[0].partition(":")
        if scheme == "python":
            target = _python_file(target)
        if scheme in FILES and (scheme != "python" or target.endswith(".py")):
            self._check_file(where, target)

    def _check_file(self, where: str, path: str) -> None:
        if not os.path.isfile(path):
            expected, got = "a file that exists", repr(path)
            if not os.path.isabs(path) and not os.path.exists(path) and self._command != "eval":
                got += f" in {os.getcwd()}; builds change folders: begin paths with $PWD/"
            if os.path.isdir(path):
                known = [
                    name for name in sorted(os.listdir(path)) if name.endswith(_FILES.get(where, ".onnx"))
                ]
                hint = f"; did you mean {os.path.join(path, known[0])!r}?" if len(known) == 1 else ""
                hint = f"; it has {', '.join(known)}" if len(known) > 1 else hint
                expected, got = "a file", f"{path!r}, which is a folder{hint}"
            # eval takes these options in the text of its own
            who = f"{self._command}: {'--contender' if self._command == 'eval' else where}"
            raise InputError(f"{who}: expected {expected}, got {got}")

    def _check_policy(self, where: str, text: str) -> None:
        policy, _, query = text.partition("?")
        name = policy[1:].replace("-", "a").replace("_", "a")
        named = name.isascii() and name.isalnum() and name.islower() and name[:1].isalpha()
        is_there = named if policy[:1] == "@" else os.path.isfile(os.path.join(policy, "policy.toml"))
        if not is_there:
            from passpilot.runners.policy.bundle import find_bundle

            find_bundle(policy)  # says what is wrong
        for part in query.split("&") if query else ():
            key, _, value = part.partition("=")
            if key != "aim" and (key not in ("tries", "recipe") or not whole_number(value)):
                raise self._wrong(where, "aim=NAME, or tries=N or recipe=N with N of 1 or more", part)
        if self.tries and (self.best_of or "recipe=" in query or "aim=" in query):
            other = "--best-of" if self.best_of else "recipe=N or aim=NAME"
            raise self._wrong(where, f"tries=N or {other}", "both")

    def _check_recording(self, where: str, path: str) -> None:
        if not (os.path.isabs(path) or self._command == "build"):  # commands of a build run in many folders
            raise self._wrong(where, "an absolute path", path)
        self.make_folder("record", path)

    def _check_number(self, where: str, text: str, *, positive: bool) -> None:
        number = finite_number(text)
        if number is None or number < 0 or (positive and not number):
            raise self._wrong(where, "a number above 0" if positive else "a number of 0 or more", text)

    def _wrong(self, where: str, expected: str, got: str, hint: str = "") -> UsageError:
        hint = hint or f"; see `passpilot {self._command} --help`"
        return UsageError(f"{self._command}: {where}: expected {expected}, got {got}{hint}")

    def value(self, name: str) -> str:
        """The last value of an option; empty if there is none."""
        return self._given.get(name, [""])[-1]

    def spelled(self, name: str) -> str:
        """An option as the user has given it, such as ``--policy=@oz``."""
        return f"{self._where[name]}={self.value(name)}"

    def advice(self) -> list[str]:
        """The options that change the code, as the user has given them."""
        return [
            self.spelled(name) for name in (*HOOKED, *CHANGING) if self.value(name) not in ("", "default")
        ]

    def check_readers(self, *, loads: bool) -> None:
        """Refuse what nobody would write or ask; and unless clang `loads` the plugin, names that nobody has.

        Raises:
            UsageError: no option names an advisor, or nobody has a decision point.
            RunnerSpecError: nobody has the name of a policy or a scheme.
        """
        self.check_log()
        self.check_points()
        if not loads:
            self._check_names()

    def check_log(self) -> None:
        """Refuse a log that nobody would write.

        Raises:
            UsageError: no option names an advisor.
        """
        if "log" not in self._given or self.points() or self.value("decisions"):
            return
        from passpilot.runners.policy.bundle import find_bundle

        if not self.policy or not find_bundle(self.policy).points:
            where = self._where["log"]
            raise UsageError(
                f"{self._command}: {where} has no effect without an advisor; add --inline=RUNNER, "
                "or --advise=POINT=RUNNER for the point of a pass"
            )

    def check_points(self) -> None:
        """Refuse the name of a decision point that nobody has; a file of --load may declare any.

        Raises:
            UsageError: nobody has a decision point of this name.
        """
        if "load" in self._given:
            return
        advised = [text.partition("=")[0] for text in self._given.get("advise", [])]
        if others := [point for point in advised if point not in EMIT_PASSES]:
            from passpilot.passes.point_search import search_point

            for point in others:
                search_point(point)

    def _check_names(self) -> None:
        if self.policy.startswith("@"):
            from passpilot.runners.policy.bundle import find_bundle

            find_bundle(self.policy)
        runners = [self.value(point) for point in HOOKED if point in self._given]
        runners += [text.partition("=")[2] for text in self._given.get("advise", [])]
        if others := [text for text in runners if text.partition("?")[0].partition(":")[0] not in SCHEMES]:
            from passpilot.runners.spec import check_runner_spec

            for text in others:
                if "load" not in self._given:  # the file may register the scheme
                    check_runner_spec(text)

    @property
    def best_of(self) -> int:
        """How many variants of an object are compiled; the smallest stays. 0 for a plain compilation."""
        return int(self.value("best-of") or 0)

    @property
    def policy(self) -> str:
        """The policy without the number of tries; empty if there is none."""
        policy, _, query = self.value("policy").partition("?")
        kept = "&".join(part for part in query.split("&") if part and not part.startswith("tries="))
        return f"{policy}?{kept}" if kept else policy

    @property
    def tries(self) -> int:
        """How many of the policy's recipes are compiled; the smallest object stays. 0 for a plain one."""
        parts = self.value("policy").partition("?")[2].split("&")
        return max((int(part[6:]) for part in parts if part.startswith("tries=")), default=0)

    def asks(self, unoptimized: bool) -> bool:
        """Whether a compilation needs the plugin; with `default` and no log it does not."""
        if not {"load", "at", "advise", "unwind"}.isdisjoint(self._given):
            return True
        runners = [self.value(point) for point in HOOKED if point in self._given]
        logged = bool(runners) and "log" in self._given
        whole = not {"decisions", "policy", "profile"}.isdisjoint(self._given)
        advised = logged or whole or any(runner != "default" for runner in runners)
        return advised and (self.stats or not unoptimized)

    def environment(self) -> dict[str, str]:
        """The environment variables for the plugin; an empty one counts as unset."""
        environment: dict[str, str] = {}
        for name, texts in self._given.items():
            environment[OPTIONS[name].variable] = ";".join(texts if OPTIONS[name].several else texts[-1:])
        if self.policy:
            environment[OPTIONS["policy"].variable] = self.policy
        advise = OPTIONS["advise"].variable
        if advise in self._variables:
            environment.setdefault(advise, "")
        flags = {"stats": self.stats, "traceback": self.traceback}
        environment |= {FLAGS[name].variable: "1" for name, wanted in flags.items() if wanted}
        return environment

    def words(self) -> list[str]:
        """All arguments, with paths that hold in every folder of a build."""
        flags = [f"--{name}" for name in ("stats", "traceback") if getattr(self, name)]
        given = [(name, text) for name, texts in self._given.items() for text in texts]
        return [*flags, *(f"--{name}={self._everywhere(name, text)}" for name, text in given), *self.rest]

    def _everywhere(self, name: str, text: str) -> str:
        """The value of an option with an absolute path, if it has a path."""
        head, path = "", text
        front, _, rest = text.partition("=")
        if name == "advise" or (name == "log" and front in {*HOOKED, *self.points()}):
            head, path = f"{front}=", rest
        if name in HOOKED or name == "advise":
            scheme, _, path = path.partition(":")
            head += f"{scheme}:"
            is_path = scheme in FILES and (scheme != "python" or _python_file(path).endswith(".py"))
        else:
            is_path = name in ("load", "log", "record") or OPTIONS[name].kind == "file"
            is_path |= name == "policy" and text[0] != "@"
        return head + os.path.join(os.getcwd(), path) if is_path else text

    def points(self) -> list[str]:
        """The decision points that options name runners for."""
        advised = (text.partition("=")[0] for text in self._given.get("advise", []))
        return [*(point for point in HOOKED if point in self._given), *advised]

    def logs(self) -> tuple[list[str], list[str]]:
        """The folders of the logs, and the files: a folder exists, or has a slash at its end."""
        points = {*HOOKED, *self.points()}
        folders: list[str] = []
        files: list[str] = []
        for text in self._given.get("log", []):
            is_folder = text[-1] == "/" or os.path.isdir(text)
            is_file = text.partition("=")[0] in points or not is_folder
            (files if is_file else folders).append(text)
        return folders, files

    def make_folder(self, name: str, path: str) -> None:
        """Make a folder that the option `name` names."""
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            who = f"{self._command}: {self._where[name]}"
            raise InputError(f"{who}: expected a folder, got {path}: {error.strerror}") from error


def _python_file(target: str) -> str:
    """The file, or the module, of the target of a runner in Python."""
    return target.partition("?")[0].rpartition(":")[0]
