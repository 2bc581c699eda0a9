// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the sections of the page, for what is in the data.

/** What was measured with what. */
function factsOf(raw) {
  const unfinished = raw.complete === false ? "The evaluation is not finished" : "";
  return [unfinished, raw.corpus?.split("/").pop(), raw.compiler, raw.machine].filter(Boolean).join(" · ");
}

function tilesOf(data, runs, evaluations) {
  const several = evaluations.length > 1;
  const tiles = evaluations.flatMap(({ name, view }) => view.tiles(several ? `${middle(name, 24)}: ` : ""));
  const known = data.tunes.filter(
    (each) =>
      each.start &&
      (each.curve.length || !data.tunes.some((other) => other.curve.length && other.text === each.text)),
  );
  for (const tuned of known) {
    const tone = tuned.text < tuned.start ? "good" : "";
    tiles.push({
      what: `${middle(tuned.name, 34)}: searched`,
      value: change(tuned.text / tuned.start),
      more: `${count(tuned.start)} → ${count(tuned.text)} bytes${tuned.reward ? `, ${tuned.reward}` : ""}`,
      tone,
    });
  }
  for (const sizes of data.sizes.slice(0, 2)) {
    const [before, after] = [0, 1].map(
      (side) =>
        sizes.functions[side ? "after" : "before"].reduce((sum, each) => sum + each, 0) + sizes.rest[side],
    );
    if (!evaluations.length && !data.tunes.length && before)
      tiles.push({
        what: "functions",
        value: change(after / before),
        more: `${count(before)} → ${count(after)} bytes`,
        tone: after < before ? "good" : after > before ? "bad" : "",
      });
  }
  for (const run of runs.slice(0, 4)) {
    const { total, done, unlike } = run.tallies.reduce(
      (sum, each) => ({
        total: sum.total + each.total,
        done: sum.done + each.done,
        unlike: sum.unlike + each.unlike,
      }),
      { total: 0, done: 0, unlike: 0 },
    );
    tiles.push({
      what: `${middle(run.name, 30)}: ${run.point}`,
      value: count(total),
      more: [things(total, "decision").replace(/^\S+ /, ""), run.done && `${share(done, total)} ${run.done}`]
        .filter(Boolean)
        .join(", "),
      tone: "",
    });
    if (run.default)
      tiles.push({
        what: `as ${run.whose}'s default`,
        value: share(total - unlike, total),
        more: `${things(unlike, "decision")} unlike it`,
        tone: "",
      });
  }
  for (const each of data.costs)
    tiles.push({
      what: `${middle(each.name, 34)}: allocation cost`,
      value: each.default ? change(each.advised / each.default) : "–",
      more: `${figure(each.default)} → ${figure(each.advised)}`,
      tone: each.advised < each.default ? "good" : each.advised > each.default ? "bad" : "",
    });
  return (
    tiles.length > 0 &&
    h(
      "section",
      { id: "summary", class: "tiles", "aria-label": "Summary" },
      tiles.map(({ what, value, more, tone }) =>
        h(
          "div",
          { class: "card tile" },
          h("b", { class: tone }, value),
          h("span", { class: "what" }, what),
          h("span", { class: "more" }, more),
        ),
      ),
    )
  );
}

function comparedEvaluations(data) {
  if (data.evaluations.length < 2) return [];
  const view = new EvaluationsCompared(data.evaluations);
  return [
    section(
      "evaluations",
      "Two evaluations",
      "The bytes of linked machine code of one contender of each, by program.",
      view.controls,
      view.element,
    ),
  ];
}

/** The functions before and after, one pair of treemaps at a time. */
function bytesOf(data, shown) {
  const sets = [...data.sizes, ...data.evaluations.flatMap(({ raw }) => sizesOf(raw))];
  if (!sets.length) return [];
  const box = h("div");
  let now = { set: sets[0], sides: sets[0].sides };
  const draw = () => {
    const { names, functions, labels, rest } = now.set;
    const [first, second] = now.sides ?? ["before", "after"];
    const rows = names.map((name, at) => ({
      name,
      before: functions[first][at],
      after: functions[second][at],
    }));
    const sums = Array.isArray(rest) ? rest : [rest[first], rest[second]];
    box.replaceChildren(new Treemaps(rows, now.sides ?? labels, sums, shown).element);
  };
  const menus = h("div", { class: "controls" });
  const drawMenus = () =>
    menus.replaceChildren(
      ...[
        sets.length > 1 &&
          menu(
            "Program",
            sets.map((each, at) => [String(at), middle(each.name, 34)]),
            String(sets.indexOf(now.set)),
            (at) => {
              const set = sets[Number(at)];
              const kept = now.sides?.every((each) => each in set.functions) ? now.sides : set.sides;
              now = { set, sides: kept };
              drawMenus();
              draw();
            },
          ),
        ...(now.sides ?? []).map((side, at) =>
          menu(
            at ? "→" : "from",
            Object.keys(now.set.functions).map((each) => [each, middle(each, 26)]),
            side,
            (name) => ((now.sides = now.sides.with(at, name)), draw()),
          ),
        ),
      ].filter(Boolean),
    );
  drawMenus();
  draw();
  return [
    section(
      "bytes",
      "Where the bytes went",
      "The area of a function is its size; green became smaller, orange larger.",
      menus,
      box,
    ),
  ];
}

/** The functions of the programs of an evaluation. */
function sizesOf(raw) {
  const policy = raw.contenders.find((each) => each.kind === "policy")?.name;
  return raw.programs
    .filter((each) => each.functions?.names.length)
    .map((each) => {
      const known = Object.keys(each.functions.sizes);
      const first = raw.baselines.find((name) => known.includes(name)) ?? known[0];
      const second = known.includes(policy) ? policy : (known.find((name) => name !== first) ?? first);
      return {
        name: each.name,
        names: each.functions.names,
        functions: each.functions.sizes,
        rest: each.functions.rest,
        sides: [first, second],
      };
    });
}

function searchOf(data) {
  const searches = data.tunes.filter((each) => each.curve.length);
  if (!searches.length) return [];
  const view = new Curves(searches);
  return [
    section(
      "search",
      "The search",
      searches.length > 1
        ? "The best size found so far, as the change from the start."
        : "The best size found so far.",
      view.controls,
      view.element,
    ),
  ];
}

function unitsOf(data) {
  const rows = data.tunes.flatMap((each) => each.units);
  if (!rows.length) return [];
  const ratio = (row) => (row.start ? row.text / row.start : null);
  const known = (key) => rows.some((row) => row[key] !== undefined && row[key] !== null && row[key] !== "");
  const columns = [
    {
      label: "unit",
      kind: "text",
      value: (row) => row.name,
      text: (row) => middle(row.name, 44),
      title: (row) => row.name,
    },
    known("start") && {
      label: "before",
      kind: "number",
      value: (row) => row.start ?? null,
      text: (row) => (row.start ? count(row.start) : "–"),
    },
    known("start") && {
      label: "after",
      kind: "number",
      value: (row) => row.text ?? null,
      text: (row) => (row.start ? count(row.text) : "–"),
    },
    known("start") && { label: "change", kind: "change", value: ratio, text: (row) => change(ratio(row)) },
    known("calls") && {
      label: "calls decided",
      kind: "number",
      value: (row) => row.calls ?? null,
      text: (row) => (row.calls === undefined ? "–" : count(row.calls)),
    },
    known("pipeline") && {
      label: "pipeline",
      kind: "mono",
      value: (row) => row.pipeline ?? "",
      text: (row) => middle(row.pipeline || "–", 40),
      title: (row) => row.pipeline,
    },
    known("options") && {
      label: "options",
      kind: "mono",
      value: (row) => row.options ?? "",
      text: (row) => middle(row.options || "–", 40),
      title: (row) => row.options,
    },
  ].filter(Boolean);
  const sort = known("start") ? { at: 3, falls: false } : null;
  const lens = new Lens(columns, rows, { caption: "Units by change", sort, label: "units" });
  return [
    section(
      "units",
      "Units",
      "What the search found for every unit.",
      null,
      h("div", { class: "card" }, lens.element),
    ),
  ];
}

function costsOf(data, shown) {
  return data.costs.map((each, number) => {
    const columns = [
      {
        label: "function",
        kind: "mono",
        value: (row) => shown(row.name),
        text: (row) => middle(brief(shown(row.name)), 44),
        title: (row) => shown(row.name),
      },
      { label: "default", kind: "number", value: (row) => row.default, text: (row) => figure(row.default) },
      { label: "advised", kind: "number", value: (row) => row.advised, text: (row) => figure(row.advised) },
      {
        label: "difference",
        kind: "number",
        value: (row) => Math.abs(row.advised - row.default),
        text: (row) => figure(row.advised - row.default),
        tone: (row) => (row.advised < row.default ? "good" : row.advised > row.default ? "bad" : "soft"),
      },
      {
        label: "cost",
        kind: "change",
        value: (row) => (row.default ? row.advised / row.default : null),
        text: (row) => change(row.default ? row.advised / row.default : null),
      },
    ];
    const lens = new Lens(columns, each.functions, {
      caption: "Allocation cost by function",
      sort: { at: 3, falls: true },
      label: "functions",
    });
    return section(
      `costs${number || ""}`,
      "Register allocation",
      `${each.name}: the cost of spills, reloads and copies by block frequency, advised and LLVM's default.`,
      null,
      h("div", { class: "card" }, lens.element),
    );
  });
}

/** The decisions by module, if there are several modules. */
function modulesSection(runs) {
  const rows = runs.flatMap((run) => run.tallies.map((each) => ({ ...each, run })));
  if (runs.every((run) => run.tallies.length < 2)) return [];
  const several = runs.length > 1;
  const columns = [
    {
      label: "module",
      kind: "text",
      value: (row) => row.name,
      text: (row) => middle(row.name || row.run.name, 44),
      title: (row) => row.name,
    },
    several && {
      label: "run",
      kind: "text",
      value: (row) => row.run.name,
      text: (row) => middle(row.run.name, 24),
    },
    { label: "decisions", kind: "size", value: (row) => row.total, text: (row) => count(row.total) },
    runs.some((run) => run.done) && {
      label: runs[0].done || "done",
      kind: "share",
      value: (row) => (row.run.done ? row.done / row.total : null),
      text: (row) => (row.run.done ? share(row.done, row.total) : "–"),
    },
    runs.some((run) => run.default) && {
      label: "as the default",
      kind: "number",
      value: (row) => (row.run.default ? 1 - row.unlike / row.total : null),
      text: (row) => (row.run.default ? share(row.total - row.unlike, row.total) : "–"),
    },
  ].filter(Boolean);
  const lens = new Lens(columns, rows, {
    caption: "Decisions by module",
    sort: { at: several ? 2 : 1, falls: true },
    label: "modules",
  });
  return [
    section(
      "modules",
      "Modules",
      "How many decisions the compiler asked for, and what came out.",
      null,
      h("div", { class: "card" }, lens.element),
    ),
  ];
}

function decisionsOf(data, runs, shown) {
  if (!runs.length) return [];
  const table = new Decisions(runs, shown, (run) => bytesColumn(data, run));
  const made = [];
  const calls = runs.filter((run) => run.site === "call" && run.byKey.has("callee") && run.idle);
  if (calls.length) {
    const graph = new GraphView(calls, shown, (run, text) => {
      table.open(run, text);
      byId("decisions").scrollIntoView();
      table.input.focus({ preventScroll: true });
    });
    made.push(
      section(
        "calls",
        "Calls",
        "Callers are on the left. An arrow stands for all calls between two functions.",
        graph.controls,
        graph.element,
      ),
    );
  }
  made.push(section("decisions", "Decisions", null, table.controls, table.element));
  if (runs.some((run, at) => runs.findIndex((each) => each.point === run.point) < at)) {
    const view = new Compared(runs, shown);
    made.push(
      section(
        "compared",
        "Two runs side by side",
        "Decisions belong together if they have the same module, caller, callee, place and register.",
        view.controls,
        view.element,
      ),
    );
  }
  return made;
}

/** The bytes by which the caller has changed, if the page knows the sizes of functions. */
function bytesColumn(data, run) {
  const caller = run.byKey.get("caller") ?? run.byKey.get("context");
  if (!data.sizes.length || !caller) return [];
  const differs = new Map();
  for (const { names, functions } of data.sizes)
    names.forEach((name, at) => differs.set(name, functions.after[at] - functions.before[at]));
  const value = (row) => differs.get(caller.plain(row)) ?? null;
  const known = {
    key: "caller_bytes",
    label: "caller's bytes",
    doc: "By how many bytes the function has changed",
    isNumber: true,
    first: true,
    value,
    text: (row) => (value(row) === null ? "–" : signed(value(row))),
  };
  return [known];
}
