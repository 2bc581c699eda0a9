// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two runs side by side: where their decisions differ. Two evaluations: where their programs differ.

class Compared {
  constructor(runs, shown) {
    Object.assign(this, { runs, shown });
    const [first, second] = likeliestPair(runs);
    this.pair = [first, second];
    const names = runs.map((run, at) => [String(at), `${middle(run.name, 40)} (${run.point})`]);
    this.controls = [0, 1].map((side) =>
      menu(
        side ? "and" : "Run",
        names,
        String(runs.indexOf(this.pair[side])),
        (at) => ((this.pair[side] = runs[Number(at)]), this.draw()),
      ),
    );
    this.element = h("div", { class: "card" });
    this.draw();
  }

  draw() {
    const [first, second] = this.pair;
    if (first.point !== second.point) {
      this.element.replaceChildren(
        h(
          "p",
          { class: "empty" },
          `These runs have decisions of different points, ${first.point} and ${second.point}.`,
        ),
      );
      return;
    }
    const joined = joinRuns(first, second);
    const flows = [
      [count(joined.common), "decisions in both"],
      [
        `${count(joined.different.length)} (${share(joined.different.length, joined.common)})`,
        "taken differently",
      ],
      [count(joined.onlyFirst), `only in ${middle(first.name, 30)}`],
      [count(joined.onlySecond), `only in ${middle(second.name, 30)}`],
    ];
    const top = h(
      "div",
      { class: "bar-above" },
      h(
        "div",
        { class: "flow" },
        flows.map(([value, text]) => h("div", {}, h("b", {}, value), h("span", {}, text))),
      ),
      this.turns(joined, first, second),
    );
    if (!joined.different.length) {
      this.element.replaceChildren(
        top,
        h(
          "p",
          { class: "empty" },
          joined.common
            ? "Both runs take all common decisions alike."
            : "These runs have no decision in common.",
        ),
      );
      return;
    }
    const grid = new Grid(this.columns(first, second, joined.different), "Decisions that differ", () => {});
    this.element.replaceChildren(top, grid.element);
    grid.show(joined.different.map((_, at) => at));
  }

  /** How often one advice became another. */
  turns({ different }, first, second) {
    const found = new Map();
    for (const [a, b] of different) {
      const key = `${first.advice.text(a)} → ${second.advice.text(b)}`;
      found.set(key, (found.get(key) ?? 0) + 1);
    }
    const top = [...found].sort((a, b) => b[1] - a[1]).slice(0, 6);
    return (
      top.length > 0 &&
      h("p", { class: "note" }, top.map(([key, times]) => `${key}: ${count(times)}`).join(" · "))
    );
  }

  columns(first, second, pairs) {
    const keys = ["log", "context", "caller", "callee", "location", "register"]
      .filter((key) => first.byKey.has(key) && pairs.some(([a]) => first.byKey.get(key).plain(a)))
      .filter(
        (key) =>
          !["log", "context"].includes(key) ||
          new Set(pairs.map(([a]) => first.byKey.get(key).plain(a))).size > 1,
      );
    const places = keys.map((key) => {
      const column = first.byKey.get(key);
      const own = {
        ...column,
        value: (at) => column.value(pairs[at][0]),
        text: (at) => column.text(pairs[at][0]),
        mono: true,
      };
      return { ...own, cell: ["caller", "callee"].includes(key) ? named(own) : undefined };
    });
    const advice = (run, side) => ({
      key: `advice${side}`,
      label: middle(run.name, 18),
      doc: `The advice of ${run.name}`,
      isNumber: run.advice.isNumber,
      least: 140,
      grows: false,
      value: (at) => run.advice.value(pairs[at][side]),
      text: (at) => run.advice.text(pairs[at][side]),
      cell: (at) =>
        run.idle
          ? h(
              "span",
              { class: `tag${run.isDone(pairs[at][side]) ? " yes" : ""}` },
              run.advice.text(pairs[at][side]),
            )
          : null,
    });
    return [...places, advice(first, 0), advice(second, 1)];
  }
}

/** The two runs of the same point that share most contexts; the first two if none does. */
function likeliestPair(runs) {
  const contexts = new Map(
    runs.map((run) => [
      run,
      new Set(Array.from({ length: Math.min(run.size, 4000) }, (_, row) => run.placeOf(row))),
    ]),
  );
  let best = [runs[0], runs[1]];
  let most = -1;
  runs.forEach((first, at) => {
    for (const second of runs.slice(at + 1)) {
      if (first.point !== second.point) continue;
      const [small, large] = [contexts.get(first), contexts.get(second)];
      let common = 0;
      for (const each of small) common += large.has(each);
      if (common > most) [most, best] = [common, [first, second]];
    }
  });
  return best;
}
