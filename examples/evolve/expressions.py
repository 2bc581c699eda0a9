# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evolves a heuristic that a person can read: expressions of named features, by genetic programming (deap).

usage: EVOLVE_CORPUS=corpus EVOLVE_HELD_OUT=a,b \\
    python examples/evolve/expressions.py OUTPUT.py [GENERATIONS [POPULATION]]

The score is that of evaluator.py: the share of allocated bytes that a heuristic saves on the programs of the
corpus, without those that are held out. At the end the best one is judged by the programs that were held out,
and written as a Python function of fewer than 20 lines, which `passpilot aot OUTPUT.py:decide` compiles.
"""

import operator
import random
import sys
import tempfile
import textwrap
from pathlib import Path

from deap import base, creator, gp, tools
from evaluator import evaluate

FEATURES = (
    "cost_estimate",
    "callee_users",
    "caller_users",
    "callee_basic_block_count",
    "caller_basic_block_count",
    "node_count",
    "nr_ctant_params",
    "callsite_height",
    "is_multiple_blocks",
    "constant_args",
    "sroa_savings",
    "nested_inlines",
)
START = ("lt(cost_estimate, 0.0)", "lt(cost_estimate, if_else(lt(callee_users, 2.0), 5.0, -5.0))")
"""What evolution begins with, beside random expressions."""
HEIGHT, NODES, NAMES = 6, 24, 8
"""The largest expressions: their height, nodes and features."""
CROSSED, CHANGED = 0.6, 0.3
FAILED = -1.0
"""The score of what cannot be compiled, or makes compilations fail: less than any other."""
SHAPES = {
    "lt": "{} < {}",
    "both": "({} and {})",
    "either": "({} or {})",
    "negated": "(not {})",
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "{} * {}",
    "share": "{} / (1 + abs({}))",
    "if_else": "({1} if {0} else {2})",
}


def number() -> float:
    """A constant of a new expression."""
    return float(random.choice((1, 2, 3, 5, 10, 20, 50, 100, -5, -20)))


def features_of(tree: gp.PrimitiveTree) -> list[str]:
    """The features that an expression reads."""
    read = {getattr(node, "value", None) for node in tree}
    return [name for name in FEATURES if name in read]


def grammar() -> gp.PrimitiveSetTyped:
    """The operations: those of numbers are of floats, which never overflow to an error."""
    names = gp.PrimitiveSetTyped("decide", [float] * len(FEATURES), bool)
    names.renameArguments(**{f"ARG{at}": name for at, name in enumerate(FEATURES)})
    names.addPrimitive(operator.lt, [float, float], bool, "lt")
    for name in ("both", "either"):
        names.addPrimitive(max, [bool, bool], bool, name)
    names.addPrimitive(operator.not_, [bool], bool, "negated")
    for name in ("add", "sub", "mul", "share"):
        names.addPrimitive(max, [float, float], float, name)
    names.addPrimitive(max, [bool, float, float], float, "if_else")
    names.addEphemeralConstant("number", number, float)
    names.addTerminal(True, bool)
    names.addTerminal(False, bool)
    return names


def text_of(tree: gp.PrimitiveTree) -> str:
    """The function in Python."""

    def spell(nodes: list) -> str:
        node = nodes.pop(0)
        if isinstance(node, gp.Terminal):
            return f"{node.value:g}" if isinstance(node.value, float) else str(node.value)
        return SHAPES[node.name].format(*(spell(nodes) for _ in range(node.arity)))

    expression = spell(list(tree))
    lines = [f'    {name} = float(obs["{name}"])' for name in features_of(tree)]
    wrapped = textwrap.fill(expression, 96, break_long_words=False, break_on_hyphens=False)
    return "\n".join(
        ["def decide(obs):", *lines, "    return (", textwrap.indent(wrapped, " " * 8), "    )", ""]
    )


def tools_of(names: gp.PrimitiveSetTyped, scores: dict, folder: str) -> base.Toolbox:
    """How expressions are made, scored, chosen, crossed and changed."""
    creator.create("Gain", base.Fitness, weights=(1.0,))
    creator.create("Heuristic", gp.PrimitiveTree, fitness=creator.Gain)
    box = base.Toolbox()
    box.register("tree", gp.genHalfAndHalf, pset=names, min_=1, max_=3)
    box.register("heuristic", tools.initIterate, creator.Heuristic, box.tree)

    def score(tree: gp.PrimitiveTree) -> tuple:
        text = text_of(tree)
        if text not in scores:
            path = Path(folder, "candidate.py")
            path.write_text(text)
            scores[text] = evaluate(str(path))
        found = scores[text]
        return (FAILED if "error" in found else float(found["combined_score"]),)

    box.register("score", score)
    box.register("choose", tools.selDoubleTournament, fitness_size=3, parsimony_size=1.3, fitness_first=True)
    box.register("cross", gp.cxOnePoint)
    box.register("branch", gp.genFull, min_=0, max_=2)
    box.register("change", gp.mutUniform, expr=box.branch, pset=names)
    box.register("other_number", gp.mutEphemeral, mode="one")
    for name in ("cross", "change"):
        box.decorate(name, gp.staticLimit(operator.attrgetter("height"), HEIGHT))
        box.decorate(name, gp.staticLimit(len, NODES))
        box.decorate(name, gp.staticLimit(lambda tree: len(features_of(tree)), NAMES))
    return box


def next_generation(box: base.Toolbox, population: list) -> list:
    """The best one, and children of chosen ones."""
    best = tools.selBest(population, 1)
    children = [box.clone(one) for one in box.choose(population, len(population) - 1)]
    for first, second in zip(children[::2], children[1::2], strict=False):
        if random.random() < CROSSED:
            box.cross(first, second)
    for child in children:
        if random.random() < CHANGED:
            box.change(child)
        elif random.random() < CHANGED:
            box.other_number(child)
    # the cache of scores, by text, knows what has not changed
    for child in children:
        child.fitness.values = box.score(child)
    return [*map(box.clone, best), *children]


def main(output: str, generations: int = 10, size: int = 20) -> None:
    """Evolve, and write the best heuristic."""
    random.seed(0)
    names, scores = grammar(), {}
    with tempfile.TemporaryDirectory() as folder:
        box = tools_of(names, scores, folder)
        population = [creator.Heuristic(gp.PrimitiveTree.from_string(text, names)) for text in START]
        population += [box.heuristic() for _ in range(size - len(population))]
        for one in population:
            one.fitness.values = box.score(one)
        for number in range(generations + 1):
            if number:
                population = next_generation(box, population)
            (best,) = tools.selBest(population, 1)
            print(f"generation {number}: {best.fitness.values[0]:.5f} {best}", flush=True)
    text = text_of(best)
    found = scores[text]
    if "error" in found:
        sys.exit(f"expressions: expected a candidate that compiles, got none: {found['error']}")
    Path(output).write_text(text)
    print(f"trained {found['combined_score']:.5f}, validated {found['validated']:.5f}, {len(scores)} tried")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
