# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evolves examples/evolve/policy.py without a network: chance stands in for the language model.

usage: EVOLVE_CORPUS=corpus python examples/evolve/offline.py OUTPUT.py [CANDIDATES]

A candidate has another number or comparison than the best so far. Replace `propose` by a model of yours, or
give policy.py and evaluator.py to `openevolve`, which asks one.
"""

import random
import re
import sys
import tempfile
from pathlib import Path

from evaluator import evaluate

HERE = Path(__file__).parent


def propose(text: str, random_: random.Random) -> str:
    """Another text: one number or comparison of the function is changed."""
    start = text.index("EVOLVE-BLOCK-START")
    place = random_.choice(list(re.finditer(r"\b\d+\b|<=|>=|[<>]", text[start:])))
    old = place.group()
    new = (
        str(max(0, int(old) + random_.choice((-5, -2, 2, 5, 20)))) if old.isdigit() else random_.choice("<>")
    )
    return text[: start + place.start()] + new + text[start + place.end() :]


def main(output: str, candidates: int) -> None:
    """Write the best of so many candidates."""
    random_, best = random.Random(0), (HERE / "policy.py").read_text()
    with tempfile.TemporaryDirectory() as folder:
        candidate = Path(folder, "candidate.py")
        candidate.write_text(best)
        score = evaluate(str(candidate))
        print(f"begin: {score}")
        for number in range(candidates):
            candidate.write_text(text := propose(best, random_))
            found = evaluate(str(candidate))
            if float(found["combined_score"]) > float(score["combined_score"]):
                best, score = text, found
                print(f"candidate {number}: {score}")
    Path(output).write_text(best)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 20)
