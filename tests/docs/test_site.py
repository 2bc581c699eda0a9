# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hooks of the documentation site: what they refuse, and what they make of a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import griffe
import pytest
from mkdocs.config import load_config
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files

from tests.command import GENEROUS
from tools import site

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = '''
class Documented:
    """A class."""

    def method(self):
        """A method."""

    def bare(self): ...

    def _private(self): ...


class Derived(Documented):
    """Another."""

    def method(self): ...


def function(): ...
'''


@pytest.fixture(scope="module")
def config() -> MkDocsConfig:
    return load_config(str(ROOT / "mkdocs.yml"))


def test_what_has_no_docstring_is_named(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SOURCE)
    module = griffe.load("sample", search_paths=[tmp_path])
    found = [
        path
        for name in ("Documented", "Derived", "function")
        for path in site.undocumented(module[name], name)
    ]
    assert found == ["Documented.bare", "function"]


def test_a_public_name_without_a_page_is_refused(
    config: MkDocsConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, sentence, names = site.PAGES["advisors"]
    monkeypatch.setitem(site.PAGES, "advisors", (title, sentence, names.replace("EvictAdvisor", "")))
    with pytest.raises(PluginError, match="EvictAdvisor"):
        site.on_files(Files([]), config)


def test_every_public_name_has_a_place(config: MkDocsConfig) -> None:
    files = config.plugins.on_files(Files([]), config=config)
    pages = {file.src_uri: file.content_string for file in files}
    assert {uri for uri in pages if uri not in (ROOT / "mkdocs.yml").read_text()} == set()
    assert "::: passpilot.ir.BasicBlock\n" in pages["api/ir.md"]
    assert "| [`optimize`][passpilot.optimize] | Run " in pages["api/index.md"]


def test_a_diagram_and_a_table_are_made_for_the_page(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.svg").write_text("<svg><style>x</style>\n<g/></svg>\n")
    config = cast("MkDocsConfig", SimpleNamespace(docs_dir=str(tmp_path)))
    text = "![a](images/a.svg)\n\n| `a\\|b` | c |\n"
    made = site.on_page_markdown(text, config=config)
    assert made == '<figure class="diagram"><svg><g/></svg></figure>\n\n| `a|b` | c |\n'


def test_the_site_names_no_other_site(config: MkDocsConfig) -> None:
    config.plugins.on_config(config)
    loaded = [*config.extra_css, *config.extra_javascript, *config.extra["polyfills"]]
    assert not [each for each in loaded if "://" in str(each)]
    assert config.theme["font"] is False
    for image in (ROOT / "docs" / "images").glob("*.svg"):
        assert re.findall(r"https?://[^\"]+", image.read_text()) == ["http://www.w3.org/2000/svg"]


def test_the_command_of_the_makefile_refuses_broken_links(tmp_path: Path) -> None:
    (command,) = re.findall(r"\$\(PY\) (-m mkdocs .*)", (ROOT / "Makefile").read_text())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Page\n\n[a](absent.md) [b](#absent) [c](/absent/)\n")
    settings = "nav: [index.md]\nhooks: []\nplugins: []\nextra_css: []\nextra: {polyfills: []}\n"
    (tmp_path / "mkdocs.yml").write_text(f"INHERIT: {ROOT}/mkdocs.yml\n{settings}")
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=tmp_path,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=GENEROUS,
        check=False,
    )
    assert "Aborted with 3 warnings" in done.stdout + done.stderr
    assert done.returncode == 1
    assert [name for name in ("absent.md", "#absent", "/absent/") if f"'{name}'" not in done.stderr] == []
