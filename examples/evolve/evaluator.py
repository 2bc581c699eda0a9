# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores the text of a decision function by what programs load: an evaluator that `openevolve` calls.

    EVOLVE_CORPUS=corpus openevolve-run examples/evolve/policy.py examples/evolve/evaluator.py

The corpus is one of `passpilot tune` or `passpilot corpus`. EVOLVE_HELD_OUT=a,b names programs that the
score does not see; `validated` is for them. A candidate is text from a language model. It is never run as
Python: `passpilot aot` compiles it to code that computes with numbers and does nothing else.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import passpilot

REFERENCE = "-Oz"


def evaluate(program_path: str) -> dict[str, float | str]:
    """The share of allocated bytes that a candidate saves; a text that cannot be compiled saves nothing.

    Args:
        program_path: the file of the candidate, with a function `decide(obs)`.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "policy.so")
        command = [
            Path(sys.executable).with_name("passpilot"),
            "aot",
            f"{program_path}:decide",
            "-o",
            library,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return {"combined_score": 0.0, "error": "it takes more than 60 seconds to compile"}
        if done.returncode:
            return {"combined_score": 0.0, "error": done.stderr}
        ratios, error = _ratios(f"inline=aot:{library}")
    held_out = set(filter(None, os.environ.get("EVOLVE_HELD_OUT", "").split(",")))
    if error or not ratios.keys() - held_out:
        return {"combined_score": 0.0, "error": error or "no program is left to score"}
    score = _gain([ratio for name, ratio in ratios.items() if name not in held_out])
    return {"combined_score": score, "validated": _gain([ratios[name] for name in held_out & ratios.keys()])}


def _ratios(contender: str) -> tuple[dict[str, float], str]:
    """The programs' allocated bytes against the reference, and what went wrong."""
    corpus = os.environ.get("EVOLVE_CORPUS", "corpus")
    result = passpilot.evaluate(corpus, [contender], baselines=[REFERENCE], no_runs=True, no_logs=True)
    rows = [row for row in result if row["policy"] != REFERENCE]
    wrong = "; ".join(str(row["errors"]) for row in rows if row["errors"])
    return {
        str(row["program"]): float(str(row["allocated_ratio"])) for row in rows if not row["errors"]
    }, wrong


def _gain(ratios: list[float]) -> float:
    return 1 - sum(ratios) / len(ratios) if ratios else 0.0
