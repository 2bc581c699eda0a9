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
const MONO = ["caller", "callee", "location", "register", "context", "log"];
const FILTER_DELAY = 120; // milliseconds after the last key
const IS_DEFAULT = /(^|\s)(is:(un)?like)\b/;

/** A cell with the short name of a C++ function; null for names that are short already. */
const shortNameCell = (column) => (row) => {
  const text = column.text(row);
  const label = brief(text);
  return label === text ? null : html`<span title=${text}>${label}</span>`;
};

/** A cell with the advice; null where no advice does nothing. */
const adviceCell = (run) => (row) =>
  run.idle ? html`<span class=${`tag${run.isDone(row) ? " yes" : ""}`}>${run.advice.text(row)}</span>` : null;

/** `text` is the filter; `extra(run)` are more columns, such as the bytes that the caller has changed by. */
function DecisionsSection({ runs, run, text, extra, onRun, onText }) {
  const names = numbered(
    runs.map(({ name, point, size }) => `${middle(name, 40)} (${point}, ${count(size)})`),
  );
  const at = runs.indexOf(run);
  const pick = (number) => onRun(runs[number]);
  const controls = html`<${Menu} label="Run" options=${names} value=${at} onPick=${pick} />`;
  return html`
    <${Section} id="decisions" title="Decisions" controls=${runs.length > 1 && controls}>
      <${Decisions} key=${at} run=${run} text=${text} extra=${extra} onText=${onText} />
    <//>
  `;
}

function Decisions({ run, text, extra, onText }) {
  const columns = useMemo(() => decisionColumns(run, extra(run)), []);
  const [visible, setVisible] = useState(() => columns.filter(({ first }) => first).map(({ key }) => key));
  const [opened, setOpened] = useState(null);
  const [filter, setFilter] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setFilter(text), FILTER_DELAY);
    return () => clearTimeout(timer);
  }, [text]);
  const { rows, error } = useMemo(() => filtered(run, columns, filter), [filter]);
  const lastRows = useRef(rows);
  if (!error) lastRows.current = rows;
  const shownColumns = useMemo(() => columns.filter(({ key }) => visible.includes(key)), [visible]);
  const quick = (word) => onText([text.replace(IS_DEFAULT, "").trim(), word].filter(Boolean).join(" "));
  const toggle = (key) =>
    setVisible(visible.includes(key) ? visible.filter((other) => other !== key) : [...visible, key]);
  const kinds = [
    ["", "All"],
    ["is:unlike", "Unlike the default"],
    ["is:like", "As the default"],
  ];
  const kind = IS_DEFAULT.exec(text)?.[2] ?? "";
  const [one, compared, unlike, without] = filterExamples(run, columns);
  return html`
    <div class="card">
      <div class="bar-above">
        <div class="controls">
          <div class="search">
            <input type="search" aria-label="Filter" aria-describedby="filter-help" spellcheck="false"
              value=${text} placeholder="Filter: ${one} ${compared} ${unlike}"
              aria-invalid=${String(Boolean(error))} onInput=${(event) => onText(event.target.value)} />
          </div>
          ${
            run.default &&
            html`<${Choice} label="Decisions" options=${kinds} value=${kind} onPick=${quick} />`
          }
          <details class="columns">
            <summary class="button">Columns</summary>
            <div>
              ${columns.map(
                ({ key, label, doc }) => html`
                  <label title=${doc}>
                    <input type="checkbox" checked=${visible.includes(key)} onChange=${() => toggle(key)} />
                    ${label}
                  </label>
                `,
              )}
            </div>
          </details>
        </div>
        <p class="help" id="filter-help">
          Words look in all texts. <code>${one}</code> in one column, <code>${compared}</code> compares,${" "}
          <code>${unlike}</code> differs from the default, <code>${without}</code> excludes.
        </p>
        <p class=${`note${error ? " error" : ""}`} role="status">${error || foundInWords(run, rows)}</p>
      </div>
      <${Grid} id="decisions-grid" columns=${shownColumns} rows=${lastRows.current} caption="Decisions"
        onOpen=${setOpened} />
      <div class="detail" hidden=${opened === null} role="region" aria-label="The decision">
        ${
          opened !== null &&
          html`<${Decision} ...${{ run, columns }} row=${opened} onClose=${() => setOpened(null)} />`
        }
      </div>
    </div>
  `;
}

/** The rows that a filter finds, or what is wrong with it. */
function filtered(run, columns, filter) {
  const words = {
    unlike: (row) => run.isUnlike(row),
    like: (row) => !run.isUnlike(row),
    done: (row) => run.isDone(row),
    idle: (row) => !run.isDone(row),
  };
  if (run.done) words[run.done] = words.done;
  const { test, error } = compileQuery(filter, columns, words);
  return { rows: Array.from({ length: run.size }, (_, row) => row).filter(test), error };
}

function foundInWords(run, rows) {
  const unlike = run.default
    ? `, ${count(rows.filter((row) => run.isUnlike(row)).length)} unlike the default`
    : "";
  const found = `${count(rows.length)} of ${things(run.size, "decision")}${unlike}.`;
  if (run.size === run.total) return found;
  return `${found} The page has the first ${count(run.size)} of ${things(run.total, "decision")}.`;
}

/** Examples of filters with the columns of the run. */
function filterExamples(run, columns) {
  const text = columns.find(({ key }) => ["callee", "register", "context"].includes(key))?.key ?? "advice";
  const number = FIRST_FEATURES.find((key) => run.byKey.has(key)) ?? "row";
  return [`${text}:get`, `${number}<50`, "is:unlike", `-${text}:main`];
}

/** The columns of a run, with those that the page makes; `first` are those that are visible at first. */
function decisionColumns(run, extra) {
  const isVaried = (key) => new Set(run.byKey.get(key).raw).size > 1;
  const cells = {
    advice: () => adviceCell(run),
    caller: shortNameCell,
    callee: shortNameCell,
    context: shortNameCell,
  };
  const known = run.columns.map((column) => ({
    ...column,
    first: column.isFeature
      ? FIRST_FEATURES.includes(column.key)
      : !["log", "context"].includes(column.key) || isVaried(column.key),
    mono: MONO.includes(column.key),
    least: column.kind === "word" ? 104 : column.key === "location" ? 150 : undefined,
    grows: column.kind === "word" ? false : undefined,
    cell: cells[column.key]?.(column),
  }));
  const effect = {
    key: "effect",
    label: "effect",
    kind: "text",
    first: Boolean(run.default),
    least: 158,
    grows: false,
    doc: "What the decision changed against the default",
    value: (row) => run.effect(row),
    text: (row) => run.effect(row),
    cell: (row) => html`<span class=${run.isUnlike(row) ? "tag other" : "soft"}>${run.effect(row)}</span>`,
  };
  const number = {
    key: "row",
    label: "#",
    first: true,
    kind: "number",
    least: 72,
    value: (row) => row + 1,
    text: (row) => count(row + 1),
    doc: "The number of the decision",
  };
  const features = known.filter(({ isFeature }) => isFeature);
  const places = known.filter(({ isFeature, key, doc }) => !isFeature && (key !== "number" || doc));
  return [number, ...places, effect, ...extra, ...features];
}

function Decision({ run, columns, row, onClose }) {
  const facts = columns.filter((column) => !column.isFeature && column.key !== "row" && column.text(row));
  const features = columns.filter(({ isFeature }) => isFeature);
  return html`
    <div class="detail-head">
      <h3>Decision ${count(row + 1)}</h3>
      <button type="button" class="quiet" aria-label="Close" onClick=${onClose}>✕</button>
    </div>
    <dl class="facts">
      ${facts.map(
        ({ label, mono, text }) =>
          html`<div><dt>${label}</dt><dd class=${mono ? "mono" : null}>${text(row)}</dd></div>`,
      )}
    </dl>
    ${
      features.length > 0 &&
      html`
      <div class="features-box">
        <p class="note">Features, with the distribution of all decisions; this one is in the coloured bar.</p>
        <div class="features">
          ${features.map(
            ({ key, label, doc, text }) => html`
              <div class="feature" title="${key}: ${doc}">
                <span>${label}</span><span>${text(row)}</span>
                <${Histogram} column=${run.byKey.get(key)} row=${row} />
              </div>
            `,
          )}
        </div>
      </div>
    `
    }
  `;
}

/** How the values of all decisions are distributed, and where this one is. */
function Histogram({ column, row }) {
  column.bins ??= binsOf(column.raw);
  const { heights, of } = column.bins;
  const mine = of(column.raw[row]);
  return html`
    <svg width="72" height="18" aria-hidden="true">
      ${heights.map((part, at) => {
        const height = Math.max(part ? 2 : 0.6, part * 18);
        const hue = at === mine ? "var(--accent)" : "var(--edge)";
        return html`<rect x=${at * 6} y=${18 - height} width="5" height=${height} fill=${hue} />`;
      })}
    </svg>
  `;
}

/** The heights of 12 bars, and the function that gives the bar of a value. */
function binsOf(values) {
  const bend = (value) => Math.sign(value) * Math.log1p(Math.abs(value));
  const known = values.filter((value) => value !== null);
  let [low, high] = [Infinity, -Infinity];
  for (const value of known) {
    low = Math.min(low, bend(value));
    high = Math.max(high, bend(value));
  }
  const of = (value) =>
    value === null ? -1 : Math.min(11, Math.floor(((bend(value) - low) / (high - low || 1)) * 12));
  const counts = new Array(12).fill(0);
  for (const value of known) counts[of(value)]++;
  const most = Math.max(...counts, 1);
  return { heights: counts.map((times) => Math.sqrt(times / most)), of };
}
