// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table whose cells may be bars; any column sorts it. Long tables show their first rows and a button.

const FIRST_ROWS = 12;

/** Rows sorted by a column; rows without a value come last. */
function sortedRows(rows, column, falls) {
  const sign = falls ? -1 : 1;
  const collator = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (typeof a === "string" ? collator.compare(a, b) : a - b);
  const values = new Map(rows.map((row) => [row, column.value(row)]));
  return [...rows].sort((first, second) => {
    const [a, b] = [values.get(first), values.get(second)];
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * compare(a, b);
  });
}

/** The `aria-sort` of a column's head; `sort` is {at, falls}, with `at` the number or key of a column. */
const ariaSort = (sort, at) => (sort?.at === at ? (sort.falls ? "descending" : "ascending") : null);

/**
 * `columns`: {label, kind, value(row), text(row), doc, title(row), tone(row)}; kinds are text, mono, number,
 * change (a ratio, drawn from the middle), share (a part of 1) and size (a bar from the left). The bars of
 * all changes have one scale: that of the columns that lead, if there are some; longer bars are cut off.
 * `totals` are rows above the others that are not sorted.
 */
function Table({ columns, rows, totals = [], caption, sort: firstSort = null, label = "rows" }) {
  const [sort, setSort] = useState(firstSort);
  const [all, setAll] = useState(rows.length <= FIRST_ROWS + 3);
  const scales = useMemo(() => scalesOf(columns, [...rows, ...totals]), [columns, rows]);
  const sorted = sort ? sortedRows(rows, columns[sort.at], sort.falls) : rows;
  const sortBy = (at) => {
    const falls = sort?.at === at ? !sort.falls : ["number", "size"].includes(columns[at].kind);
    setSort({ at, falls });
  };
  const cells = (row) =>
    columns.map((column, at) => html`<${Cell} ...${{ column, row, at, scale: scales[at] }} />`);
  return html`
    <div>
      <div class="lens-box" tabindex="0" role="region" aria-label=${caption}>
        <table class="lens">
          <caption class="hidden-text">${caption}</caption>
          <thead>
            <tr>
              ${columns.map(
                ({ kind, label, doc }, at) => html`
                  <th scope="col" class=${kind === "number" ? "n" : null} aria-sort=${ariaSort(sort, at)}>
                    <button type="button" class="sort" title=${doc ?? label} onClick=${() => sortBy(at)}>
                      ${label}
                    </button>
                  </th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${totals.map((row) => html`<tr class="total">${cells(row)}</tr>`)}
            ${(all ? sorted : sorted.slice(0, FIRST_ROWS)).map((row) => html`<tr>${cells(row)}</tr>`)}
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
  const change = most(
    ratios.map((ratio) => Math.abs((ratio ?? 1) - 1)),
    0.005,
  );
  return columns.map(({ kind, value }) => (kind === "size" ? most(rows.map(value), 1e-9) : change));
}

function Cell({ column, row, at, scale }) {
  const value = column.value(row);
  const text = column.text ? column.text(row) : String(value ?? "–");
  const tone = column.tone?.(row) ?? "";
  const title = column.title?.(row);
  const mono = column.kind === "mono" ? "mono" : null;
  if (!at) return html`<th scope="row" class=${mono} title=${title ?? text}>${text}</th>`;
  const bar = { change: changeBar, size: sizeBar, share: shareBar }[column.kind]?.(value, text, scale, tone);
  const kind = { number: "n", mono: "mono" }[column.kind] ?? "";
  return html`<td class=${bar ? null : `${kind} ${tone}`.trim() || null} title=${title}>${bar ?? text}</td>`;
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

function sizeBar(value, text, largest) {
  const style = { "--from": "0%", "--size": `${(100 * (value ?? 0)) / largest}%`, "--hue": "var(--accent)" };
  return html`<div class="bar plain"><span>${text}</span><i style=${style} aria-hidden="true" /></div>`;
}

function shareBar(part, text) {
  const size = html`<i style=${{ "--size": `${100 * (part ?? 0)}%` }} />`;
  const bar = html`<i class="share" aria-hidden="true">${size}</i>`;
  return html`<div class="bar plain"><span>${text}</span>${bar}</div>`;
}
