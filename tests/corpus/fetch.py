# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fetch the archives of the corpus through the registries' own clients, and unpack them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.corpus.programs import DRIVERS, Origin, Program, cache_home

_apt_lock = threading.Lock()


class CorpusError(Exception):
    """A program of the corpus cannot be fetched or built."""


def run(command: list[str | Path], cwd: Path | None = None) -> str:
    """Run a command; its standard output.

    Raises:
        CorpusError: it is not installed or failed; the tail of its standard error is in the text.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as error:
        raise CorpusError(f"{words[0]} is not installed") from error
    if done.returncode:
        raise CorpusError(f"{' '.join(words)[:300]} exited with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def _fetch_pypi(origin: Origin, into: Path) -> None:
    pinned = f"{origin.package}=={origin.version}"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", origin.package]
    run([*pip, "-d", into, pinned])


def _fetch_npm(origin: Origin, into: Path) -> None:
    run(
        ["npm", "pack", "--silent", f"{origin.package}@{origin.version}", "--pack-destination", into],
        cwd=into,
    )


def _fetch_apt(origin: Origin, into: Path) -> None:
    with _apt_lock:
        source = [
            "apt-get",
            *_apt_options(cache_home() / "work" / "apt"),
            "source",
            "--download-only",
            "--tar-only",
        ]
        try:
            run([*source, f"{origin.package}={origin.version}"], cwd=into)
        except CorpusError:  # a later Debian revision of the same upstream archive serves as well
            run([*source, origin.package], cwd=into)


def _apt_options(root: Path) -> list[str]:
    """Options that give apt-get source lists and a cache of our own, derived from the configured ones."""
    lists = root / "srclists"
    options = ["-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={lists}"]
    options += ["-o", f"Dir::State::lists={root}/lists", "-o", f"Dir::Cache={root}/cache"]
    if os.geteuid() == 0:
        options += ["-o", "APT::Sandbox::User=root"]
    if not (root / "ready").exists():
        for directory in ("lists/partial", "cache/archives/partial", "srclists"):
            (root / directory).mkdir(parents=True, exist_ok=True)
        _write_source_lists(Path("/etc/apt"), lists)
        run(["apt-get", *options, "update"])
        (root / "ready").touch()
    return options


def _write_source_lists(etc: Path, lists: Path) -> None:
    wrote = False
    for file in etc.glob("sources.list.d/*.sources"):
        text = file.read_text()
        if re.search(r"(?m)^URIs:.*/debian", text):
            (lists / file.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))
            wrote = True
    for file in [etc / "sources.list", *etc.glob("sources.list.d/*.list")]:
        lines = file.read_text().splitlines() if file.exists() else []
        sources = [re.sub(r"^deb ", "deb-src ", line) for line in lines if re.match(r"deb .*/debian", line)]
        if sources:
            (lists / f"{file.stem}-src.list").write_text("\n".join(sources) + "\n")
            wrote = True
    if not wrote:
        raise CorpusError("no Debian package source is configured in /etc/apt")


_CLIENTS = {"pypi": _fetch_pypi, "npm": _fetch_npm, "apt": _fetch_apt}


def fetch(origin: Origin) -> Path:
    """The archive, downloaded once and checked against its hash."""
    downloads = cache_home() / "work" / "dl"
    downloads.mkdir(parents=True, exist_ok=True)
    file = downloads / origin.file
    if not file.exists():
        try:
            _CLIENTS[origin.kind](origin, downloads)
        except CorpusError as error:
            raise CorpusError(
                f"{origin.package} {origin.version} cannot be fetched from {origin.kind}: {error}"
            ) from error
    if not file.exists():
        have = ", ".join(sorted(p.name for p in downloads.iterdir()))
        raise CorpusError(
            f"{origin.package}: expected {origin.file} from {origin.kind}, got {have or 'nothing'}"
        )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != origin.sha256:
        raise CorpusError(
            f"{file}: expected sha256 {origin.sha256}, got {digest}; delete the file to fetch it again"
        )
    return file


def unpack(program: Program) -> None:
    """Make `program.source`, the archive's tree with our driver in `_driver/`, unless it is there."""
    done = program.source / ".done"
    if not done.exists():
        shutil.rmtree(program.source, ignore_errors=True)
        temporary = program.source.with_suffix(".tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        with tarfile.open(fetch(program.origin)) as archive:
            # Debian 12's Python has no filters; the archive is one whose hash we know.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            archive.extractall(temporary)
        program.source.parent.mkdir(parents=True, exist_ok=True)
        (temporary / program.root).rename(program.source)
        shutil.rmtree(temporary, ignore_errors=True)  # gone if the archive has no top folder
    drivers = program.source / "_driver"
    drivers.mkdir(exist_ok=True)
    for name in (*program.driver.sources, *program.driver.files, "gen.h"):
        shutil.copy(DRIVERS / name, drivers / Path(name).name)
    for each in program.configured:
        target = program.source / each.target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(configured((program.source / each.source).read_text(), each.values))
    done.touch()


def configured(template: str, values: Mapping[str, str]) -> str:
    """What CMake's configure_file makes of a template: #cmakedefine, #cmakedefine01, @NAME@ and ${NAME}."""

    def define(match: re.Match[str]) -> str:
        name = match["name"]
        if match["bit"]:
            return f"#define {name} {int(name in values)}"
        return f"#define {name}{match['rest']}" if name in values else f"/* #undef {name} */"

    text = re.sub(r"(?m)^#cmakedefine(?P<bit>01)? (?P<name>\w+)(?P<rest>.*)$", define, template)
    return re.sub(r"@(\w+)@|\$\{(\w+)\}", lambda match: values.get(match[1] or match[2], ""), text)
