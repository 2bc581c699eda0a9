// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sections of the page that are tiles or tables, for what is in the data.

const toneOfChange = (before, after) => (after < before ? "good" : after > before ? "bad" : "");

const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** The figures at the top of the page: [{what, value, more, tone}]. */
function tilesOf({ data, runs, evaluations }) {
  const searched = (tune) =>
    !tune.curve.length && data.tunes.some((other) => other.curve.length && other.text === tune.text);
  const tunes = data.tunes
    .filter((tune) => tune.start && !searched(tune))
    .map(({ name, start, text, reward }) => ({
      what: `${middle(name, 34)}: searched`,
      value: change(text / start),
      more: `${count(start)} → ${count(text)} bytes${reward ? `, ${reward}` : ""}`,
      tone: text < start ? "good" : "",
    }));
  const sizes = data.sizes
    .slice(0, evaluations.length || data.tunes.length ? 0 : 2)
    .map(({ functions, rest }) => [sumOf(functions.before) + rest[0], sumOf(functions.after) + rest[1]])
    .filter(([before]) => before)
    .map(([before, after]) => ({
      what: "functions",
      value: change(after / before),
      more: `${count(before)} → ${count(after)} bytes`,
      tone: toneOfChange(before, after),
    }));
  const costs = data.costs.map((cost) => ({
    what: `${middle(cost.name, 34)}: allocation cost`,
    value: cost.default ? change(cost.advised / cost.default) : "–",
    more: `${figure(cost.default)} → ${figure(cost.advised)}`,
    tone: toneOfChange(cost.default, cost.advised),
  }));
  const views = evaluations.flatMap(({ name, evaluation }) =>
    evaluation.tiles(evaluations.length > 1 ? `${middle(name, 24)}: ` : ""),
  );
  return [...views, ...tunes, ...sizes, ...runs.slice(0, 4).flatMap(runTiles), ...costs];
}

function runTiles(run) {
  const [total, done, unlike] = ["total", "done", "unlike"].map((key) =>
    sumOf(run.tallies.map((tally) => tally[key])),
  );
  const decisions = {
    what: `${middle(run.name, 30)}: ${run.point}`,
    value: count(total),
    more: `decision${total === 1 ? "" : "s"}${run.done && `, ${share(done, total)} ${run.done}`}`,
  };
  const alike = {
    what: `as ${run.whose}'s default`,
    value: share(total - unlike, total),
    more: `${things(unlike, "decision")} unlike it`,
  };
  return run.default ? [decisions, alike] : [decisions];
}

const Tiles = ({ tiles }) => html`
  <section id="summary" class="tiles" aria-label="Summary">
    ${tiles.map(
      ({ what, value, more, tone }) => html`
        <div class="card tile">
          <b class=${tone}>${value}</b><span class="what">${what}</span><span class="more">${more}</span>
        </div>
      `,
    )}
  </section>
`;

/** A section that is one table. */
const TableSection = ({ id, title, text, ...table }) => html`
  <${Section} id=${id} title=${title} text=${text}><div class="card"><${Table} ...${table} /></div><//>
`;

/** The functions before and after, one pair of treemaps at a time. */
function BytesSection({ data, shown }) {
  const sets = useMemo(() => [...data.sizes, ...data.evaluations.flatMap(({ raw }) => sizesOf(raw))], []);
  const [at, setAt] = useState(0);
  const [sides, setSides] = useState(sets[0]?.sides);
  if (!sets.length) return null;
  const { names, functions, rest } = sets[at];
  const pick = (next) => {
    const kept = sides?.every((side) => side in sets[next].functions);
    setAt(next);
    setSides(kept ? sides : sets[next].sides);
  };
  const labels = ["from", "→"];
  const options = Object.keys(functions).map((name) => [name, middle(name, 26)]);
  const programs = numbered(sets.map(({ name }) => middle(name, 34)));
  const controls = html`
    ${sets.length > 1 && html`<${Menu} label="Program" options=${programs} value=${at} onPick=${pick} />`}
    ${sides && html`<${PairMenus} ...${{ labels, options, pair: sides }} onPick=${setSides} />`}
  `;
  const [before, after] = (sides ?? ["before", "after"]).map((side) => functions[side]);
  const rows = names.map((name, at) => ({ name, before: before[at], after: after[at] }));
  const others = sides ? sides.map((side) => rest[side]) : rest;
  return html`
    <${Section} id="bytes" title="Where the bytes went" controls=${controls}
      text="The area of a function is its size; green became smaller, orange larger.">
      <${Treemaps} key=${[at, sides].join()} functions=${rows} labels=${sides ?? sets[at].labels} rest=${others}
        shown=${shown} />
    <//>
  `;
}

/** The functions of the programs of an evaluation; `sides` are the contenders to show at first. */
function sizesOf(raw) {
  const policy = raw.contenders.find(({ kind }) => kind === "policy")?.name;
  return raw.programs
    .filter(({ functions }) => functions?.names.length)
    .map(({ name, functions: { names, sizes, rest } }) => {
      const known = Object.keys(sizes);
      const first = raw.baselines.find((baseline) => known.includes(baseline)) ?? known[0];
      const second = known.includes(policy)
        ? policy
        : (known.find((contender) => contender !== first) ?? first);
      return { name, names, functions: sizes, rest, sides: [first, second] };
    });
}

function UnitsSection({ data }) {
  const rows = data.tunes.flatMap(({ units }) => units);
  if (!rows.length) return null;
  const ratio = (row) => (row.start ? row.text / row.start : null);
  const isKnown = (key) => rows.some((row) => (row[key] ?? "") !== "");
  const columns = [
    textColumn("unit", (row) => row.name, 44),
    isKnown("start") && numberColumn("before", (row) => row.start || null),
    isKnown("start") && numberColumn("after", (row) => (row.start ? row.text : null)),
    isKnown("start") && changeColumn("change", ratio),
    isKnown("calls") && numberColumn("calls decided", (row) => row.calls),
    isKnown("pipeline") && textColumn("pipeline", (row) => row.pipeline ?? "", 40, "mono"),
    isKnown("options") && textColumn("options", (row) => row.options ?? "", 40, "mono"),
  ].filter(Boolean);
  return html`
    <${TableSection} id="units" title="Units" text="What the search found for every unit." label="units"
      columns=${columns} rows=${rows} caption="Units by change" sort=${{ at: "change", falls: false }} />
  `;
}

function CostSection({ id, cost, shown }) {
  const ratio = (row) => (row.default ? row.advised / row.default : null);
  const columns = [
    functionColumn(shown, 44),
    numberColumn("default", (row) => row.default, figure),
    numberColumn("advised", (row) => row.advised, figure),
    {
      label: "difference",
      kind: "number",
      value: (row) => Math.abs(row.advised - row.default),
      text: (row) => figure(row.advised - row.default),
      tone: (row) => toneOfChange(row.default, row.advised) || "soft",
    },
    changeColumn("cost", ratio),
  ];
  const what = "the cost of spills, reloads and copies by block frequency, advised and LLVM's default.";
  return html`
    <${TableSection} id=${id} title="Register allocation" text="${cost.name}: ${what}" label="functions"
      columns=${columns} rows=${cost.functions} caption="Allocation cost by function"
      sort=${{ at: "difference", falls: true }} />
  `;
}

/** The decisions by module, if there are several modules. */
function ModulesSection({ runs }) {
  if (runs.every(({ tallies }) => tallies.length < 2)) return null;
  const rows = runs.flatMap((run) => run.tallies.map((tally) => ({ ...tally, run })));
  const columns = [
    textColumn("module", (row) => row.name || row.run.name, 44),
    runs.length > 1 && textColumn("run", (row) => row.run.name, 24),
    { label: "decisions", kind: "size", value: (row) => row.total, text: (row) => count(row.total) },
    runs.some((run) => run.done) && {
      label: runs[0].done || "done",
      kind: "share",
      value: (row) => (row.run.done ? row.done / row.total : null),
      text: (row) => (row.run.done ? share(row.done, row.total) : "–"),
    },
    runs.some((run) => run.default) &&
      numberColumn(
        "as the default",
        (row) => (row.run.default ? 1 - row.unlike / row.total : null),
        (part) => share(part, 1),
      ),
  ].filter(Boolean);
  return html`
    <${TableSection} id="modules" title="Modules"
      text="How many decisions the compiler asked for, and what came out."
      columns=${columns} rows=${rows} caption="Decisions by module" label="modules"
      sort=${{ at: "decisions", falls: true }} />
  `;
}

/** The decisions of the runs: as a graph of calls, as a table, and two runs side by side. */
function RunSections({ data, runs, shown }) {
  const [run, setRun] = useState(runs[0]);
  const [text, setText] = useState("");
  if (!runs.length) return null;
  const open = (run, text) => {
    setRun(run);
    setText(text);
  };
  const filter = (run, text) => {
    open(run, text);
    requestAnimationFrame(() => {
      byId("decisions").scrollIntoView();
      byId("decisions").querySelector("input").focus({ preventScroll: true });
    });
  };
  const calls = runs.filter((run) => run.site === "call" && run.byKey.has("callee") && run.idle);
  const points = new Set(runs.map(({ point }) => point));
  return html`
    ${calls.length > 0 && html`<${CallsSection} runs=${calls} shown=${shown} onFilter=${filter} />`}
    <${DecisionsSection} runs=${runs} run=${run} text=${text} extra=${(run) => bytesColumn(data, run)}
      onRun=${(run) => open(run, "")} onText=${setText} />
    ${points.size < runs.length && html`<${RunsSection} runs=${runs} />`}
  `;
}

/** The bytes by which the caller has changed, if the page knows the sizes of functions. */
function bytesColumn(data, run) {
  const caller = run.byKey.get("caller") ?? run.byKey.get("context");
  if (!data.sizes.length || !caller) return [];
  const differs = new Map();
  for (const { names, functions } of data.sizes)
    names.forEach((name, at) => differs.set(name, functions.after[at] - functions.before[at]));
  const column = numberColumn("caller's bytes", (row) => differs.get(caller.plain(row)), signed);
  const doc = "By how many bytes the function has changed";
  return [{ ...column, key: "caller_bytes", doc, first: true }];
}
