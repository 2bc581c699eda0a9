// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An evaluation: every contender against a baseline, in all and by program.

const METRICS = {
  linked: {
    label: "Linked code",
    noun: "bytes of machine code of the linked program",
    text: (value) => count(value),
    of: (result) => result.linked,
  },
  objects: {
    label: "Object files",
    noun: "bytes of machine code, summed over the object files",
    text: (value) => count(value),
    of: (result) => result.objects,
  },
  compile: {
    label: "Compile time",
    noun: "processor time to compile all units",
    text: seconds,
    of: (result) => result.compile_seconds,
  },
  run: {
    label: "Run time",
    noun: "time of the program's own runs",
    text: seconds,
    of: (result) => result.run?.seconds ?? null,
  },
};

class Evaluation {
  constructor(raw, title = "") {
    this.raw = raw;
    this.title = title;
    this.programs = raw.programs;
    this.names = raw.contenders.map((each) => each.name);
    this.metrics = Object.keys(METRICS).filter((key) =>
      this.programs.some((each) => this.names.some((name) => this.value(each, name, key) !== null)),
    );
    this.metric = this.metrics[0] ?? "linked";
    this.base = raw.baselines.find((each) => this.names.includes(each)) ?? this.names[0];
    this.controls = [
      choice(
        "Measure",
        this.metrics.map((key) => [key, METRICS[key].label]),
        this.metric,
        (key) => ((this.metric = key), this.draw()),
      ),
      menu(
        "against",
        this.names.map((name) => [name, middle(name, 34)]),
        this.base,
        (name) => ((this.base = name), this.draw()),
      ),
    ];
    this.forest = h("div");
    this.table = h("div", { class: "card" });
    this.words = h("p", { class: "note" });
    this.element = h(
      "div",
      { class: "stack" },
      h("div", { class: "card pad stack" }, this.words, this.forest),
      this.table,
      this.problems(),
      (this.regressions = h("div")),
    );
    this.draw();
    onWidth(this.forest, () => this.drawForest());
  }

  value(program, name, metric = this.metric) {
    const result = program.results[name];
    return result ? (METRICS[metric].of(result) ?? null) : null;
  }

  ratio(program, name, metric = this.metric, base = this.base) {
    const [value, against] = [this.value(program, name, metric), this.value(program, base, metric)];
    const run = metric === "run" && base === this.raw.baselines[0] ? program.results[name]?.run : null;
    if (run?.ratio) return run.ratio;
    return value !== null && against ? value / against : null;
  }

  /** The geometric mean over the programs that have both, with its interval if the file has it. */
  mean(name, metric = this.metric, base = this.base) {
    const known = this.raw.summary?.[base]?.[metric]?.[name];
    if (known) return known;
    const ratios = this.programs
      .map((each) => this.ratio(each, name, metric, base))
      .filter((each) => each > 0);
    if (!ratios.length) return null;
    return {
      ratio: Math.exp(ratios.reduce((sum, each) => sum + Math.log(each), 0) / ratios.length),
      programs: ratios.length,
    };
  }

  isPolicy(name) {
    return this.raw.contenders.some((each) => each.name === name && each.kind === "policy");
  }

  /** The contenders but for the baseline, policies first. */
  others() {
    const rest = this.names.filter((name) => name !== this.base);
    return [...rest.filter((name) => this.isPolicy(name)), ...rest.filter((name) => !this.isPolicy(name))];
  }

  draw() {
    const { noun } = METRICS[this.metric];
    const interval = this.others().some((name) => this.mean(name)?.low);
    const mean = this.programs.length > 1 ? "Geometric mean over the programs of the" : "The";
    const lines = interval ? "; the lines are 95 % intervals by bootstrap over the programs" : "";
    this.words.textContent = `${mean} ${noun}, against ${this.base}${lines}. Smaller is better.`;
    this.drawForest();
    this.table.replaceChildren(this.lens().element);
    this.regressions.replaceChildren(this.worst());
  }

  drawForest() {
    const width = this.forest.clientWidth;
    if (!width) return;
    const rows = this.others()
      .map((name) => ({ name, mean: this.mean(name) }))
      .filter(({ mean }) => mean);
    const pad = { left: Math.min(250, width * 0.36), right: Math.min(190, width * 0.28), top: 6, bottom: 30 };
    const height = rows.length * 34 + pad.top + pad.bottom;
    const ends = rows.flatMap(({ mean }) => [mean.ratio, mean.low ?? mean.ratio, mean.high ?? mean.ratio, 1]);
    let [low, high] = [Math.min(...ends), Math.max(...ends)];
    const margin = (high - low || 0.02) * 0.06;
    [low, high] = [low - margin, high + margin];
    const x = (value) => pad.left + ((value - low) / (high - low)) * (width - pad.left - pad.right);
    const y = (at) => pad.top + at * 34 + 17;
    const bottom = height - pad.bottom;
    const axis = ticks(
      (low - 1) * 100,
      (high - 1) * 100,
      Math.max(2, Math.floor((width - pad.left - pad.right) / 80)),
    ).map((value) => [
      s("line", {
        class: value ? "axis" : "zero",
        x1: x(1 + value / 100),
        x2: x(1 + value / 100),
        y1: pad.top,
        y2: bottom,
      }),
      s(
        "text",
        { x: x(1 + value / 100), y: bottom + 18, "text-anchor": "middle" },
        value ? `${value > 0 ? "+" : "−"}${Math.abs(value)} %` : "0",
      ),
    ]);
    const letters = Math.floor(pad.left / 7);
    const lines = rows.map(({ name, mean }, at) => {
      const hue = { good: "var(--good)", bad: "var(--bad)" }[this.tone(mean)] ?? "var(--soft)";
      const told =
        mean.low && width > 620
          ? `${change(mean.ratio)}  [${change(mean.low)}, ${change(mean.high)}]`
          : change(mean.ratio);
      return s(
        "g",
        tipped(
          () =>
            `${name}\n${change(mean.ratio, 2)} over ${things(mean.programs, "program")}` +
            (mean.low ? `\n95 %: ${change(mean.low, 2)} to ${change(mean.high, 2)}` : ""),
        ),
        s("rect", { x: 0, y: y(at) - 16, width, height: 32, fill: "transparent" }),
        s("text", { class: "ink", x: 0, y: y(at) + 4 }, middle(name, letters)),
        mean.low &&
          s("line", {
            x1: x(mean.low),
            x2: x(mean.high),
            y1: y(at),
            y2: y(at),
            stroke: hue,
            "stroke-width": 2,
            "stroke-linecap": "round",
          }),
        s("circle", { cx: x(mean.ratio), cy: y(at), r: 5.5, fill: hue }),
        s("text", { class: "ink", x: width, y: y(at) + 4, "text-anchor": "end" }, told),
      );
    });
    this.forest.replaceChildren(
      s(
        "svg",
        {
          class: "plot",
          width,
          height,
          role: "img",
          "aria-label": rows.map(({ name, mean }) => `${name}: ${change(mean.ratio)}`).join("; "),
        },
        axis,
        lines,
      ),
    );
  }

  lens() {
    const metric = METRICS[this.metric];
    const total = { name: "geometric mean", isTotal: true };
    const ratio = (row, name) => (row.isTotal ? (this.mean(name)?.ratio ?? null) : this.ratio(row, name));
    const columns = [
      {
        label: "program",
        kind: "text",
        value: (row) => row.name,
        title: (row) => (row.isTotal ? null : `${row.name}: ${row.language}, ${things(row.units, "unit")}`),
      },
      {
        label: middle(this.base, 22),
        kind: "number",
        doc: `${metric.label} of ${this.base}`,
        value: (row) => (row.isTotal ? null : this.value(row, this.base)),
        text: (row) => (row.isTotal ? "" : this.told(row)),
      },
      ...this.others().map((name) => ({
        label: middle(name, 26),
        doc: name,
        kind: "change",
        leads: this.isPolicy(name),
        value: (row) => ratio(row, name),
        text: (row) => change(ratio(row, name)),
        tone: (row) => (this.metric === "run" && !row.isTotal && this.unclear(row, name) ? "soft" : ""),
        title: (row) => this.titleOf(row, name),
      })),
    ];
    return new Lens(columns, this.programs, {
      totals: this.programs.length > 1 ? [total] : [],
      caption: `${this.title}${metric.label} by program`,
      label: "programs",
    });
  }

  told(row) {
    const value = this.value(row, this.base);
    return value === null ? "–" : METRICS[this.metric].text(value);
  }

  /** Whether the interval of a run time holds 1. */
  unclear(row, name) {
    const run = row.results[name]?.run;
    return !run || !run.low || (run.low <= 1 && run.high >= 1);
  }

  titleOf(row, name) {
    if (row.isTotal) return null;
    const value = this.value(row, name);
    const result = row.results[name];
    if (value === null) return `${name}: not measured`;
    const parts = [`${name}: ${METRICS[this.metric].text(value)}`];
    if (this.metric === "run" && result.run?.low) {
      const { low, high, pairs } = result.run;
      parts.push(`95 %: ${change(low)} to ${change(high)}, ${things(pairs, "pair")}`);
    }
    if (result.decisions) {
      const agreed = share(result.agreed, result.decisions);
      parts.push(`${things(result.decisions, "decision")}, ${agreed} as LLVM's default`);
    }
    return parts.join("; ");
  }

  /** The lines about units that failed and programs with wrong outputs. */
  problems() {
    const lines = this.programs.flatMap((each) =>
      Object.entries(each.results).flatMap(([name, result]) =>
        (result.errors ?? []).map((text) => `${each.name}, ${name}: ${text}`),
      ),
    );
    return (
      lines.length > 0 &&
      h(
        "div",
        { class: "card pad" },
        h("h3", { class: "bad" }, things(lines.length, "problem")),
        h(
          "ul",
          { class: "plain-list" },
          lines.slice(0, 100).map((text) => h("li", {}, text)),
        ),
      )
    );
  }

  /** The programs that the policies made larger. */
  worst() {
    const policies = this.raw.contenders.filter((each) => each.kind === "policy").map((each) => each.name);
    const rows = this.programs.flatMap((each) =>
      policies
        .filter((name) => name !== this.base)
        .map((name) => ({ program: each.name, name, ratio: this.ratio(each, name) })),
    );
    const larger = rows.filter(
      (row) =>
        row.ratio > 1 &&
        (this.metric !== "run" ||
          !this.unclear(
            this.programs.find((each) => each.name === row.program),
            row.name,
          )),
    );
    if (!policies.length || !larger.length) return "";
    larger.sort((a, b) => b.ratio - a.ratio);
    const items = larger
      .slice(0, 8)
      .map((row) =>
        h(
          "li",
          {},
          h("span", {}, `${row.program} `, h("span", { class: "soft" }, middle(row.name, 40))),
          h("span", { class: "bad" }, change(row.ratio)),
        ),
      );
    return h(
      "div",
      { class: "card pad" },
      h("h3", {}, "Worst regressions"),
      h("ul", { class: "call-list" }, items),
    );
  }

  /** Good or bad, unless the interval of a mean holds 1. */
  tone({ ratio, low, high }) {
    if (low ? low <= 1 && high >= 1 : ratio === 1) return "";
    return ratio < 1 ? "good" : "bad";
  }

  /** The tiles of the summary; `prefix` stands before their names. */
  tiles(prefix) {
    const metric = this.metrics.includes("linked") ? "linked" : "objects";
    const base = this.raw.baselines[0] ?? this.names[0];
    const policies = this.raw.contenders.filter((each) => each.kind === "policy").map((each) => each.name);
    const shown = policies.length ? policies : this.names.filter((name) => name !== base);
    return shown.slice(0, 4).flatMap((name) => {
      const mean = this.mean(name, metric, base);
      if (!mean) return [];
      const range = mean.low ? `95 %: ${change(mean.low)} to ${change(mean.high)}, ` : "";
      return [
        {
          what: `${prefix}${middle(name, 30)} against ${base}`,
          value: change(mean.ratio),
          more: `${METRICS[metric].label.toLowerCase()}, ${range}${things(mean.programs, "program")}`,
          tone: this.tone(mean),
        },
      ];
    });
  }
}

/** Two evaluations side by side: the same contender, or two, by program. */
class EvaluationsCompared {
  constructor(named) {
    this.sides = named.map(({ name, raw }) => ({ name, raw: new Evaluation(raw) }));
    this.pair = [0, 1];
    const policy = (at) =>
      this.sides[at].raw.raw.contenders.findLast((each) => each.kind === "policy")?.name ??
      this.sides[at].raw.names[0];
    this.chosen = [policy(0), policy(1)];
    this.element = h("div", { class: "card" });
    this.controls = h("div", { class: "controls" });
    this.drawControls();
    this.draw();
  }

  drawControls() {
    const files = this.sides.map(({ name }, at) => [String(at), middle(name, 30)]);
    this.controls.replaceChildren(
      ...[0, 1].flatMap((side) => [
        menu(
          side ? "and" : "Compare",
          files,
          String(this.pair[side]),
          (at) => (
            (this.pair[side] = Number(at)),
            (this.chosen[side] = this.sides[this.pair[side]].raw.names[0]),
            this.drawControls(),
            this.draw()
          ),
        ),
        menu(
          "with",
          this.sides[this.pair[side]].raw.names.map((name) => [name, middle(name, 30)]),
          this.chosen[side],
          (name) => ((this.chosen[side] = name), this.draw()),
        ),
      ]),
    );
  }

  draw() {
    const [first, second] = this.pair.map((at) => this.sides[at].raw);
    const of = (evaluation, program, name) =>
      evaluation.programs.find((each) => each.name === program)?.results[name]?.linked ?? null;
    const names = [...new Set([...first.programs, ...second.programs].map((each) => each.name))];
    const rows = names.map((program) => ({
      program,
      before: of(first, program, this.chosen[0]),
      after: of(second, program, this.chosen[1]),
    }));
    const both = rows.filter((row) => row.before && row.after);
    const mean =
      both.length &&
      Math.exp(both.reduce((sum, row) => sum + Math.log(row.after / row.before), 0) / both.length);
    const total = { program: "geometric mean", ratio: mean };
    const bytes = (value) => (value === undefined || value === null ? "–" : count(value));
    const ratio = (row) => row.ratio ?? (row.before && row.after ? row.after / row.before : null);
    const columns = [
      { label: "program", kind: "text", value: (row) => row.program },
      {
        label: "first",
        kind: "number",
        value: (row) => row.before,
        text: (row) => (row.ratio ? "" : bytes(row.before)),
      },
      {
        label: "second",
        kind: "number",
        value: (row) => row.after,
        text: (row) => (row.ratio ? "" : bytes(row.after)),
      },
      { label: "linked code", kind: "change", value: ratio, text: (row) => change(ratio(row)) },
    ];
    this.element.replaceChildren(
      new Lens(columns, rows, {
        totals: both.length > 1 ? [total] : [],
        caption: "Two evaluations by program",
        sort: { at: 3, falls: false },
        label: "programs",
      }).element,
    );
  }
}
