# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Corpora: folders of modules before optimization, and the programs that they make.

`layout.py` has what other parts use: `Corpus`, `CorpusUnit` and `CorpusProgram`.
"""

from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit, ProgramRun

__all__ = ["Corpus", "CorpusProgram", "CorpusUnit", "ProgramRun"]
