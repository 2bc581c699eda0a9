// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two runs side by side: where their decisions differ. Two evaluations: where their programs differ.

/** Two runs; the page has several of the same point. */
function RunsSection({ runs }) {
  const [pair, setPair] = useState(() => likeliestPair(runs));
  const [first, second] = pair.map((at) => runs[at]);
  const names = numbered(runs.map((run) => `${middle(run.name, 40)} (${run.point})`));
  const controls = html`
    <${PairMenus} labels=${["Run", "and"]} options=${names} pair=${pair} onPick=${setPair} />
  `;
  const points = `${first.point} and ${second.point}`;
  return html`
    <${Section} id="compared" title="Two runs side by side" controls=${controls}
      text="Decisions belong together if they have the same module, caller, callee, place and register.">
      <div class="card">
        ${
          first.point === second.point
            ? html`<${JoinedRuns} key=${pair.join()} first=${first} second=${second} />`
            : html`<p class="empty">These runs have decisions of different points, ${points}.</p>`
        }
      </div>
    <//>
  `;
}

function JoinedRuns({ first, second }) {
  const { common, onlyFirst, onlySecond, different: rows } = useMemo(() => joinRuns(first, second), []);
  const columns = useMemo(() => pairColumns(first, second, rows), []);
  const flows = [
    [count(common), "decisions in both"],
    [`${count(rows.length)} (${share(rows.length, common)})`, "taken differently"],
    [count(onlyFirst), `only in ${middle(first.name, 30)}`],
    [count(onlySecond), `only in ${middle(second.name, 30)}`],
  ];
  const alike = common
    ? "Both runs take all common decisions alike."
    : "These runs have no decision in common.";
  return html`
    <div class="bar-above">
      <div class="flow">
        ${flows.map(([value, text]) => html`<div><b>${value}</b><span>${text}</span></div>`)}
      </div>
      ${rows.length > 0 && html`<p class="note">${turnsInWords(first, second, rows)}</p>`}
    </div>
    ${
      rows.length > 0
        ? html`<${Grid} id="compared-grid" caption="Decisions that differ" ...${{ columns, rows }} />`
        : html`<p class="empty">${alike}</p>`
    }
  `;
}

/** How often one advice became another. */
function turnsInWords(first, second, different) {
  const turns = new Map();
  for (const [a, b] of different) {
    const turn = `${first.advice.text(a)} → ${second.advice.text(b)}`;
    turns.set(turn, (turns.get(turn) ?? 0) + 1);
  }
  const top = [...turns].sort((a, b) => b[1] - a[1]).slice(0, 6);
  return top.map(([turn, times]) => `${turn}: ${count(times)}`).join(" · ");
}

/** The columns of a grid whose rows are pairs: [row of the first run, row of the second]. */
function pairColumns(first, second, pairs) {
  const ofSide = (side, column) => ({
    ...column,
    value: (pair) => column.value(pair[side]),
    text: (pair) => column.text(pair[side]),
    cell: (pair) => column.cell?.(pair[side]),
  });
  const places = ["log", "context", "caller", "callee", "location", "register"]
    .map((key) => first.byKey.get(key))
    .filter((column) => {
      const texts = new Set(pairs.map(([row]) => column?.plain(row) ?? ""));
      return ["log", "context"].includes(column?.key) ? texts.size > 1 : [...texts].some(Boolean);
    })
    .map((column) => {
      const cell = ["caller", "callee"].includes(column.key) ? shortNameCell(column) : undefined;
      return ofSide(0, { ...column, mono: true, cell });
    });
  const advice = [first, second].map((run, side) => {
    const [label, doc] = [middle(run.name, 18), `The advice of ${run.name}`];
    const look = { key: `advice${side}`, label, doc, least: 140, grows: false, cell: adviceCell(run) };
    return ofSide(side, { ...run.advice, ...look });
  });
  return [...places, ...advice];
}

/** The numbers of the two runs of the same point that share most places; of the first two if none does. */
function likeliestPair(runs) {
  const places = runs.map(
    (run) => new Set(Array.from({ length: Math.min(run.size, 4000) }, (_, row) => run.placeOf(row))),
  );
  let [best, most] = [[0, 1], -1];
  for (let first = 0; first < runs.length; first++)
    for (let second = first + 1; second < runs.length; second++) {
      if (runs[first].point !== runs[second].point) continue;
      const common = [...places[first]].filter((place) => places[second].has(place)).length;
      if (common > most) [best, most] = [[first, second], common];
    }
  return best;
}

/** Two evaluations side by side: the same contender, or two, by program. */
function EvaluationsSection({ evaluations }) {
  const [pair, setPair] = useState([0, 1]);
  const [names, setNames] = useState(() =>
    pair.map((at) => evaluations[at].evaluation.policies.at(-1) ?? evaluations[at].evaluation.names[0]),
  );
  const sides = pair.map((at) => evaluations[at].evaluation);
  const files = numbered(evaluations.map(({ name }) => middle(name, 30)));
  const setFile = (side, at) => {
    setPair(pair.with(side, at));
    setNames(names.with(side, evaluations[at].evaluation.names[0]));
  };
  const controls = sides.map((evaluation, side) => {
    const contenders = evaluation.names.map((name) => [name, middle(name, 30)]);
    return html`
      <${Menu} label=${side ? "and" : "Compare"} options=${files} value=${pair[side]}
        onPick=${(at) => setFile(side, at)} />
      <${Menu} label="with" options=${contenders} value=${names[side]}
        onPick=${(name) => setNames(names.with(side, name))} />
    `;
  });
  return html`
    <${Section} id="evaluations" title="Two evaluations" controls=${controls}
      text="The loaded bytes of one contender of each, by program.">
      <div class="card">
        <${JoinedEvaluations} key=${[pair, names].join()} sides=${sides} names=${names} />
      </div>
    <//>
  `;
}

function JoinedEvaluations({ sides, names }) {
  const loaded = sides.map(
    ({ programs }, side) =>
      new Map(programs.map(({ name, results }) => [name, results[names[side]]?.allocated ?? null])),
  );
  const programs = new Set([...loaded[0].keys(), ...loaded[1].keys()]);
  const rows = [...programs].map((name) => ({ name, sizes: loaded.map((sizes) => sizes.get(name)) }));
  const ratio = (row) => row.ratio ?? (row.sizes[0] && row.sizes[1] ? row.sizes[1] / row.sizes[0] : null);
  const ratios = rows.map(ratio).filter(Boolean);
  const total = { name: "geometric mean", ratio: ratios.length > 1 && geometricMean(ratios) };
  const bytes = (label, side) => {
    const column = numberColumn(label, (row) => row.sizes?.[side]);
    return { ...column, text: (row) => (row.ratio ? "" : column.text(row)) };
  };
  const columns = [
    { label: "program", kind: "text", value: (row) => row.name },
    bytes("first", 0),
    bytes("second", 1),
    changeColumn("loaded bytes", ratio),
  ];
  const options = {
    totals: total.ratio ? [total] : [],
    caption: "Two evaluations by program",
    sort: { at: "loaded bytes", falls: false },
    label: "programs",
  };
  return html`<${Table} columns=${columns} rows=${rows} ...${options} />`;
}
