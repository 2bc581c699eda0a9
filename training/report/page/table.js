// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table whose cells may be bars; any column sorts it. Long tables show their first rows and a button.

const FIRST_ROWS = 12;

/** A column of texts that are cut to `most` characters; `words(text)` is what to show of a text. */
const textColumn = (label, value, most, kind = "text", words = (text) => text) => ({
  label,
  kind,
  value,
  text: (row) => middle(words(value(row) || "–"), most),
  title: value,
});

/** A column of numbers; "–" stands where there is none. */
const numberColumn = (label, value, words = count) => ({
  label,
  kind: "number",
  value: (row) => value(row) ?? null,
  text: (row) => ((value(row) ?? null) === null ? "–" : words(value(row))),
});

/** A column of ratios, as changes from 1. */
const changeColumn = (label, value) => ({ label, kind: "change", value, text: (row) => change(value(row)) });

/** The column with the short names of functions. */
const functionColumn = (shown, most) => textColumn("function", (row) => shown(row.name), most, "mono", brief);

/** Rows sorted by a column; rows without a value come last. */
function sortedRows(rows, { value, kind }, falls) {
  const sign = falls ? -1 : 1;
  const collator = new Intl.Collator("en", { numeric: true });
  const values = new Map(rows.map((row) => [row, value(row)]));
  const compare = ["text", "mono", "word"].includes(kind) ? collator.compare : (a, b) => a - b;
  return [...rows].sort((first, second) => {
    const [a, b] = [values.get(first), values.get(second)];
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * compare(a, b);
  });
}

/** The rows in an `order` that `sortBy(column)` changes; a sort is {at: a key or label, falls}. */
function useSort(columns, rows, firstSort = null) {
  const [sort, setSort] = useState(firstSort);
  const isSorted = ({ key, label }) => (key ?? label) === sort?.at;
  const order = useMemo(() => {
    const column = columns.find(isSorted);
    return column ? sortedRows(rows, column, sort.falls) : rows;
  }, [columns, rows, sort]);
  const sortBy = (column) => {
    const falls = isSorted(column) ? !sort.falls : ["number", "size"].includes(column.kind);
    setSort({ at: column.key ?? column.label, falls });
  };
  const directionOf = (column) => (isSorted(column) ? (sort.falls ? "descending" : "ascending") : null);
  return { order, sortBy, directionOf };
}

/**
 * `columns`: {label, kind, value(row), text(row), doc, title(row), tone(row)}; kinds are text, mono, number,
 * change (a ratio, drawn from the middle), share (a part of 1) and size (a bar from the left). The bars of
 * all changes have one scale: that of the columns that lead, if there are some; longer bars are cut off.
 * `totals` are rows above the others that are not sorted.
 */
function Table({ columns, rows, totals = [], caption, sort, label = "rows" }) {
  const { order, sortBy, directionOf } = useSort(columns, rows, sort);
  const [all, setAll] = useState(rows.length <= FIRST_ROWS + 3);
  const scales = useMemo(() => scalesOf(columns, [...rows, ...totals]), [columns, rows]);
  const cells = (row) =>
    columns.map((column, at) => html`<${Cell} ...${{ column, row, at, scale: scales[at] }} />`);
  const head = (column) => html`
    <th scope="col" class=${column.kind === "number" ? "n" : null} aria-sort=${directionOf(column)}>
      <button type="button" class="sort" title=${column.doc ?? column.label} onClick=${() => sortBy(column)}>
        ${column.label}
      </button>
    </th>
  `;
  return html`
    <div>
      <div class="table-box" tabindex="0" role="region" aria-label=${caption}>
        <table class="table">
          <caption class="hidden-text">${caption}</caption>
          <thead><tr>${columns.map(head)}</tr></thead>
          <tbody>
            ${totals.map((row) => html`<tr class="total">${cells(row)}</tr>`)}
            ${order.slice(0, all ? undefined : FIRST_ROWS).map((row) => html`<tr>${cells(row)}</tr>`)}
          </tbody>
        </table>
      </div>
      <button type="button" class="more-rows" hidden=${all} onClick=${() => setAll(true)}>
        Show all ${count(rows.length)} ${label}
      </button>
    </div>
  `;
}

/** The value at the end of the bars of every column. */
function scalesOf(columns, rows) {
  const most = (values, least) => Math.max(least, ...values.filter(Number.isFinite));
  const changes = columns.filter((column) => column.kind === "change");
  const leading = changes.filter((column) => column.leads);
  const ratios = (leading.length ? leading : changes).flatMap((column) => rows.map(column.value));
  const changed = ratios.map((ratio) => Math.abs((ratio ?? 1) - 1));
  return columns.map(({ kind, value }) => {
    if (kind === "share") return 1;
    return kind === "size" ? most(rows.map(value), 1e-9) : most(changed, 0.005);
  });
}

function Cell({ column, row, at, scale }) {
  const value = column.value(row);
  const text = column.text ? column.text(row) : String(value ?? "–");
  const tone = column.tone?.(row) ?? "";
  const title = column.title?.(row);
  const mono = column.kind === "mono" ? "mono" : null;
  if (!at) return html`<th scope="row" class=${mono} title=${title ?? text}>${text}</th>`;
  const isPlain = column.kind === "size" || column.kind === "share";
  const bar = isPlain
    ? plainBar(column.kind, value, text, scale)
    : column.kind === "change" && changeBar(value, text, scale, tone);
  const kind = { number: "n", mono: "mono" }[column.kind] ?? "";
  return html`<td class=${bar ? null : `${kind} ${tone}`.trim() || null} title=${title}>${bar || text}</td>`;
}

/** A bar to the left for what shrank, to the right for what grew. */
function changeBar(ratio, text, most, tone) {
  if (!Number.isFinite(ratio ?? NaN)) return html`<div class="bar"><span class="soft">${text}</span></div>`;
  const size = 50 * Math.min(1, Math.abs(ratio - 1) / most);
  const smaller = ratio < 1;
  const cut = Math.abs(ratio - 1) > most * 1.001 ? `cut${smaller ? " less" : ""}` : null;
  const style = {
    "--from": `${smaller ? 50 - size : 50}%`,
    "--size": `${size}%`,
    "--hue": tone === "soft" ? "var(--edge)" : smaller ? "var(--good)" : "var(--bad)",
  };
  const word = tone || (ratio === 1 ? "soft" : smaller ? "good" : "bad");
  const bar = html`<i class=${cut} style=${style} aria-hidden="true" />`;
  return html`<div class="bar"><span class=${word}>${text}</span>${bar}</div>`;
}

/** A bar from the left; that of a share has the whole behind it. */
function plainBar(kind, value, text, largest) {
  const style = { "--from": "0%", "--size": `${(100 * (value ?? 0)) / largest}%`, "--hue": "var(--accent)" };
  const bar = html`<i class=${kind} style=${style} aria-hidden="true" />`;
  return html`<div class="bar plain"><span>${text}</span>${bar}</div>`;
}
