// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of decisions with its filter and its columns, and everything about one decision below it.

const FIRST_FEATURES = [
  "cost_estimate",
  "callee_basic_block_count",
  "callee_users",
  "li_size",
  "weight",
  "nr_urgent@advice",
];

/** `extra(run)` are more columns, such as the bytes that the caller has changed by. */
class Decisions {
  constructor(runs, shown, extra) {
    Object.assign(this, { runs, shown, extra });
    this.input = h("input", {
      type: "search",
      "aria-label": "Filter",
      "aria-describedby": "filter-help",
      spellcheck: "false",
      oninput: () => this.soon(),
    });
    this.state = h("p", { class: "note", role: "status" });
    this.picker = h("div");
    this.quick = h("div");
    this.detail = h("div", { class: "detail", hidden: true, role: "region", "aria-label": "The decision" });
    this.grid = new Grid([], "Decisions", (row) => this.describe(row));
    this.help = h("p", { class: "help", id: "filter-help" });
    this.element = h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "bar-above" },
        h("div", { class: "controls" }, h("div", { class: "search" }, this.input), this.quick, this.picker),
        this.help,
        this.state,
      ),
      this.grid.element,
      this.detail,
    );
    this.controls =
      runs.length > 1 &&
      menu(
        "Run",
        runs.map((run, at) => [String(at), `${middle(run.name, 40)} (${run.point}, ${count(run.size)})`]),
        "0",
        (at) => this.open(runs[Number(at)], ""),
      );
    this.open(runs[0], "");
  }

  open(run, text) {
    this.run = run;
    this.input.value = text;
    const select = this.controls?.querySelector?.("select");
    if (select) select.value = String(this.runs.indexOf(run));
    this.columns = this.columnsOf(run);
    this.explain();
    this.visible = new Set(this.columns.filter((each) => each.first).map((each) => each.key));
    this.picker.replaceChildren(this.pickerOf());
    this.quick.replaceChildren(
      run.default
        ? choice(
            "Decisions",
            [
              ["", "All"],
              ["is:unlike", "Unlike the default"],
              ["is:like", "As the default"],
            ],
            "",
            (word) => this.add(word),
          )
        : "",
    );
    this.detail.hidden = true;
    this.grid.setColumns(this.columns.filter((each) => this.visible.has(each.key)));
    this.filter();
  }

  /** Examples of filters with the columns of the run. */
  explain() {
    const text =
      this.columns.find((each) => ["callee", "register", "context"].includes(each.key))?.key ?? "advice";
    const number = FIRST_FEATURES.find((key) => this.run.byKey.has(key)) ?? "row";
    const examples = [`${text}:get`, `${number}<50`, "is:unlike", `-${text}:main`];
    this.input.placeholder = `Filter: ${examples.slice(0, 3).join(" ")}`;
    const [one, compared, unlike, without] = examples.map((each) => h("code", {}, each));
    const words = ["Words look in all texts. ", one, " in one column, ", compared, " compares, "];
    this.help.replaceChildren(...words, unlike, " differs from the default, ", without, " excludes.");
  }

  columnsOf(run) {
    const several = (key) => new Set(run.byKey.get(key)?.raw).size > 1;
    const known = run.columns.map((each) => ({
      ...each,
      first: each.isFeature
        ? FIRST_FEATURES.includes(each.key)
        : !["log", "context"].includes(each.key) || several(each.key),
      mono: ["caller", "callee", "location", "register", "context", "log"].includes(each.key),
      least: each.isWord ? 104 : each.key === "location" ? 150 : undefined,
      grows: each.isWord ? false : undefined,
      cell: {
        advice: (row) => this.tag(each.text(row), run.isDone(row)),
        caller: named(each),
        callee: named(each),
        context: named(each),
      }[each.key],
    }));
    const effect = {
      key: "effect",
      label: "effect",
      first: Boolean(run.default),
      least: 158,
      grows: false,
      doc: "What the decision changed against the default",
      isNumber: false,
      value: (row) => run.effect(row),
      text: (row) => run.effect(row),
      cell: (row) =>
        run.isUnlike(row)
          ? h("span", { class: "tag other" }, run.effect(row))
          : h("span", { class: "soft" }, run.effect(row)),
    };
    const number = {
      key: "row",
      label: "#",
      first: true,
      isNumber: true,
      least: 72,
      value: (row) => row + 1,
      text: (row) => count(row + 1),
      doc: "The number of the decision",
    };
    const at = known.findIndex((each) => each.isFeature);
    const where = at < 0 ? known.length : at;
    return [number, ...known.slice(0, where), effect, ...this.extra(run), ...known.slice(where)].filter(
      (each) => each.key !== "number" || each.doc,
    );
  }

  tag(text, done) {
    return this.run.idle ? h("span", { class: `tag${done ? " yes" : ""}` }, text) : null;
  }

  pickerOf() {
    const box = (each) =>
      h(
        "label",
        { title: each.doc },
        h("input", {
          type: "checkbox",
          checked: this.visible.has(each.key),
          onchange: (event) => this.toggle(each.key, event.target.checked),
        }),
        each.label,
      );
    return h(
      "details",
      { class: "columns" },
      h("summary", { class: "button" }, "Columns"),
      h("div", {}, this.columns.map(box)),
    );
  }

  toggle(key, on) {
    on ? this.visible.add(key) : this.visible.delete(key);
    this.grid.setColumns(this.columns.filter((each) => this.visible.has(each.key)));
  }

  add(word) {
    const rest = this.input.value.replace(/\s*\bis:(un)?like\b/g, "").trim();
    this.input.value = [rest, word].filter(Boolean).join(" ");
    this.filter();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.filter(), 120);
  }

  filter() {
    const { run } = this;
    const words = {
      unlike: (row) => run.isUnlike(row),
      like: (row) => !run.isUnlike(row),
      done: (row) => run.isDone(row),
      idle: (row) => !run.isDone(row),
    };
    if (run.done) words[run.done] = words.done;
    this.press();
    const query = compileQuery(this.input.value, this.columns, words);
    this.input.setAttribute("aria-invalid", String(Boolean(query.error)));
    const rows = [];
    for (let row = 0; row < run.size; row++) if (query.test(row)) rows.push(row);
    const unlike = run.default ? rows.filter((row) => run.isUnlike(row)).length : 0;
    const all =
      run.size < run.total
        ? ` The page has the first ${count(run.size)} of ${things(run.total, "decision")}.`
        : "";
    const differ = run.default ? `, ${count(unlike)} unlike the default` : "";
    const found = `${count(rows.length)} of ${things(run.size, "decision")}${differ}.${all}`;
    this.state.textContent = query.error || found;
    this.state.classList.toggle("error", Boolean(query.error));
    if (!query.error) this.grid.show(rows);
  }

  /** Press the button for what the filter says. */
  press() {
    const word = /(^|\s)(is:(un)?like)\b/.exec(this.input.value)?.[2] ?? "";
    const at = ["", "is:unlike", "is:like"].indexOf(word);
    const buttons = [...this.quick.querySelectorAll("button")];
    buttons.forEach((button, number) => button.setAttribute("aria-pressed", String(number === at)));
  }

  describe(row) {
    const { run } = this;
    const texts = this.columns.filter((each) => !each.isFeature && each.key !== "row" && each.text(row));
    const features = run.columns.filter((each) => each.isFeature);
    const facts = h(
      "dl",
      { class: "facts" },
      texts.map((each) =>
        h("div", {}, h("dt", {}, each.label), h("dd", { class: each.mono ? "mono" : null }, each.text(row))),
      ),
    );
    const bars = features.map((each) =>
      h(
        "div",
        { class: "feature", title: `${each.key}: ${each.doc}` },
        h("span", {}, each.label),
        h("span", {}, each.text(row)),
        this.histogram(each, row),
      ),
    );
    this.detail.replaceChildren(
      h(
        "div",
        { class: "detail-head" },
        h("h3", {}, `Decision ${count(row + 1)}`),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": "Close",
            onclick: () => (this.detail.hidden = true),
          },
          "✕",
        ),
      ),
      facts,
      features.length
        ? h(
            "div",
            { class: "features-box" },
            h(
              "p",
              { class: "note" },
              "Features, with the distribution of all decisions; this one is in the coloured bar.",
            ),
            h("div", { class: "features" }, bars),
          )
        : "",
    );
    this.detail.hidden = false;
  }

  /** How the values of all decisions are distributed, and where this one is. */
  histogram(column, row) {
    column.bins ??= binsOf(column.raw);
    const { heights, of } = column.bins;
    const mine = of(column.raw[row]);
    return s(
      "svg",
      { width: 72, height: 18, "aria-hidden": "true" },
      heights.map((part, at) =>
        s("rect", {
          x: at * 6,
          y: 18 - Math.max(part ? 2 : 0.6, part * 18),
          width: 5,
          height: Math.max(part ? 2 : 0.6, part * 18),
          fill: at === mine ? "var(--accent)" : "var(--edge)",
        }),
      ),
    );
  }
}

/** A cell with the short name of a C++ function; others show their whole text. */
function named(column) {
  return (row) => {
    const text = column.text(row);
    const label = brief(text);
    return label === text ? null : h("span", { title: text }, label);
  };
}

/** The heights of 12 bars, and the function that gives the bar of a value. */
function binsOf(values) {
  const bend = (value) => Math.sign(value) * Math.log1p(Math.abs(value));
  const known = values.filter((each) => each !== null);
  let [low, high] = [Infinity, -Infinity];
  for (const each of known) {
    low = Math.min(low, bend(each));
    high = Math.max(high, bend(each));
  }
  const of = (value) =>
    value === null ? -1 : Math.min(11, Math.floor(((bend(value) - low) / (high - low || 1)) * 12));
  const counts = new Array(12).fill(0);
  for (const each of known) counts[of(each)]++;
  const most = Math.max(...counts, 1);
  return { heights: counts.map((each) => Math.sqrt(each / most)), of };
}
