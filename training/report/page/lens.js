// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table whose cells may be bars; any column sorts it. Long tables show their first rows and a button.

const FIRST_ROWS = 12;

/**
 * `columns`: {label, kind, value(row), text(row), doc, title(row), tone(row)}; kinds are text, mono, number,
 * change (a ratio, drawn from the middle), share (a part of 1) and size (a bar from the left). The bars of
 * all changes have one scale: that of the columns that lead, if there are some; longer bars are cut off.
 * `totals` are rows above the others that are not sorted.
 */
class Lens {
  constructor(columns, rows, { totals = [], caption, sort = null, label = "rows" }) {
    Object.assign(this, { columns, rows, totals, label, sort, all: rows.length <= FIRST_ROWS + 3 });
    const leading = columns.filter((each) => each.kind === "change" && each.leads);
    const changes = leading.length ? leading : columns.filter((each) => each.kind === "change");
    const values = changes.flatMap((each) =>
      [...rows, ...totals].map((row) => Math.abs((each.value(row) ?? 1) - 1)),
    );
    this.most = Math.max(0.005, ...values.filter(Number.isFinite));
    this.head = h("tr");
    this.body = h("tbody");
    const table = h(
      "table",
      { class: "lens" },
      h("caption", { class: "hidden-text" }, caption),
      h("thead", {}, this.head),
      this.body,
    );
    this.more = h("button", {
      type: "button",
      class: "more-rows",
      onclick: () => ((this.all = true), this.fill()),
    });
    this.element = h(
      "div",
      {},
      h("div", { class: "lens-box", tabindex: "0", role: "region", "aria-label": caption }, table),
      this.more,
    );
    this.heads = columns.map((each, at) => this.headCell(each, at));
    this.head.append(...this.heads);
    this.fill();
  }

  headCell(column, at) {
    const button = h(
      "button",
      { type: "button", class: "sort", title: column.doc ?? column.label, onclick: () => this.sortBy(at) },
      column.label,
    );
    const right = column.kind === "number" ? "n" : null;
    return h("th", { scope: "col", class: right }, button);
  }

  sortBy(at) {
    const falls =
      this.sort?.at === at ? !this.sort.falls : ["number", "size"].includes(this.columns[at].kind);
    this.sort = { at, falls };
    this.fill();
  }

  sorted() {
    if (!this.sort) return this.rows;
    const { value } = this.columns[this.sort.at];
    const sign = this.sort.falls ? -1 : 1;
    const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
    return [...this.rows].sort((a, b) => {
      const [left, right] = [value(a), value(b)];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * order(left, right);
    });
  }

  fill() {
    this.heads.forEach((cell, at) => {
      if (this.sort?.at === at) cell.setAttribute("aria-sort", this.sort.falls ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    const rows = this.sorted();
    const shown = this.all ? rows : rows.slice(0, FIRST_ROWS);
    this.body.replaceChildren(
      ...this.totals.map((row) => h("tr", { class: "total" }, this.cells(row))),
      ...shown.map((row) => h("tr", {}, this.cells(row))),
    );
    this.more.hidden = this.all;
    this.more.textContent = `Show all ${count(rows.length)} ${this.label}`;
  }

  cells(row) {
    return this.columns.map((column, at) => {
      const text = column.text ? column.text(row) : String(column.value(row) ?? "–");
      const tone = column.tone?.(row) ?? "";
      const title = column.title?.(row);
      if (!at)
        return h(
          "th",
          { scope: "row", class: column.kind === "mono" ? "mono" : null, title: title ?? text },
          text,
        );
      if (column.kind === "change")
        return h("td", { title }, changeBar(column.value(row), text, this.most, tone));
      if (column.kind === "size")
        return h("td", { title }, sizeBar(column.value(row), text, this.largest(column)));
      if (column.kind === "share") return h("td", { title }, shareBar(column.value(row), text));
      const kind = { number: "n", mono: "mono" }[column.kind] ?? "";
      return h("td", { class: `${kind} ${tone}`.trim() || null, title }, text);
    });
  }

  largest(column) {
    return Math.max(...this.rows.map((row) => column.value(row) ?? 0), 1e-9);
  }
}

/** A bar to the left for what shrank, to the right for what grew. */
function changeBar(ratio, text, most, tone) {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio))
    return h("div", { class: "bar" }, h("span", { class: "soft" }, text));
  const size = (50 * Math.min(1, Math.abs(ratio - 1) / most)).toFixed(2);
  const smaller = ratio < 1;
  const hue = tone === "soft" ? "var(--edge)" : smaller ? "var(--good)" : "var(--bad)";
  const properties = {
    "--from": smaller ? `${50 - size}%` : "50%",
    "--size": `${size}%`,
    "--hue": hue,
    "aria-hidden": "true",
    class: Math.abs(ratio - 1) > most * 1.001 ? `cut${smaller ? " less" : ""}` : null,
  };
  const word = tone || (ratio === 1 ? "soft" : smaller ? "good" : "bad");
  return h("div", { class: "bar" }, h("span", { class: word }, text), h("i", properties));
}

function sizeBar(value, text, largest) {
  const size = ((100 * (value ?? 0)) / largest).toFixed(2);
  return h(
    "div",
    { class: "bar plain" },
    h("span", {}, text),
    h("i", { "--from": "0%", "--size": `${size}%`, "--hue": "var(--accent)", "aria-hidden": "true" }),
  );
}

function shareBar(part, text) {
  const bar = h(
    "i",
    { class: "share", "aria-hidden": "true" },
    h("i", { "--size": `${(100 * (part ?? 0)).toFixed(2)}%` }),
  );
  return h("div", { class: "bar plain" }, h("span", {}, text), bar);
}
