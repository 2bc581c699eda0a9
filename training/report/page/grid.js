// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table for many rows: only the rows in sight are elements. Arrow keys move, Enter opens, the heads sort.

const ROW = 32;
const SPARE = 8;

/** `columns`: {key, label, doc, isNumber, value(row), text(row), least, grows, cell(row)}. */
class Grid {
  constructor(columns, caption, opened) {
    Object.assign(this, { columns, opened, rows: [], order: [], active: -1, sort: null, shown: new Map() });
    this.id = `grid${Grid.made++}`;
    this.head = h("div", { class: "grid-head", role: "row", "aria-rowindex": "1" });
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.element = h(
      "div",
      {
        class: "grid",
        role: "grid",
        tabindex: "0",
        "aria-label": caption,
        onkeydown: (event) => this.key(event),
        onscroll: () => this.draw(),
      },
      h("div", { role: "rowgroup" }, this.head),
      this.body,
    );
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.setColumns(columns);
  }

  setColumns(columns) {
    this.columns = columns;
    if (this.sort && !columns.includes(this.sort.column)) this.sort = null;
    const least = (each) => each.least ?? (each.isNumber ? Math.max(96, each.label.length * 7.4 + 40) : 190);
    const widths = columns.map((each) =>
      (each.grows ?? !each.isNumber) ? `minmax(${least(each)}px, 1fr)` : `${least(each)}px`,
    );
    const sum = columns.reduce((total, each) => total + least(each), 0);
    this.element.style.setProperty("--columns", widths.join(" "));
    this.element.style.setProperty("--least", `${sum}px`);
    this.element.setAttribute("aria-colcount", columns.length);
    this.head.replaceChildren(
      ...columns.map((each) =>
        h(
          "div",
          { role: "columnheader", class: each.isNumber ? "n" : null, title: each.doc || each.label },
          h(
            "button",
            { type: "button", class: "sort", tabindex: "-1", onclick: () => this.sortBy(each) },
            each.label,
          ),
        ),
      ),
    );
    this.show(this.rows);
  }

  /** Shows these rows, sorted as before. */
  show(rows) {
    this.rows = rows;
    this.order = this.sort ? this.sorted() : rows;
    this.element.setAttribute("aria-rowcount", this.order.length + 1);
    this.body.style.height = `${this.order.length * ROW}px`;
    if (this.active >= this.order.length) this.active = -1;
    this.columns.forEach((each, at) => {
      const cell = this.head.children[at];
      if (this.sort?.column === each)
        cell.setAttribute("aria-sort", this.sort.falls ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    this.clear();
    this.draw();
  }

  sortBy(column) {
    const falls = this.sort?.column === column ? !this.sort.falls : column.isNumber;
    this.sort = { column, falls };
    this.active = -1;
    this.element.scrollTop = 0;
    this.show(this.rows);
  }

  sorted() {
    const { column, falls } = this.sort;
    const sign = falls ? -1 : 1;
    const keys = new Map();
    for (const row of this.rows) keys.set(row, column.value(row));
    const compare = column.isNumber ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
    return [...this.rows].sort((a, b) => {
      const [left, right] = [keys.get(a), keys.get(b)];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * compare(left, right);
    });
  }

  clear() {
    this.body.replaceChildren();
    this.shown.clear();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
    const last = Math.min(
      this.order.length,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW) + SPARE,
    );
    for (const [at, element] of this.shown)
      if (at < first || at >= last) {
        element.remove();
        this.shown.delete(at);
      }
    for (let at = first; at < last; at++)
      if (!this.shown.has(at)) {
        const element = this.rowElement(at);
        this.shown.set(at, element);
        this.body.append(element);
      }
  }

  rowElement(at) {
    const row = this.order[at];
    const cells = this.columns.map((column) => {
      const made = column.cell?.(row);
      const kind = column.isNumber ? "n" : column.mono ? "mono" : null;
      if (made) return h("div", { role: "gridcell", class: kind }, made);
      const text = column.text(row);
      return h("div", { role: "gridcell", class: kind, title: text.length > 20 ? text : null }, text);
    });
    const element = h(
      "div",
      {
        class: `grid-row${at === this.active ? " active" : ""}`,
        role: "row",
        id: `${this.id}-${at}`,
        "aria-rowindex": at + 2,
        "aria-selected": String(at === this.active),
        onclick: () => this.activate(at, true),
      },
      cells,
    );
    element.style.transform = `translateY(${at * ROW}px)`;
    return element;
  }

  activate(at, opens) {
    if (!this.order.length) return;
    const before = this.shown.get(this.active);
    before?.classList.remove("active");
    before?.setAttribute("aria-selected", "false");
    this.active = Math.max(0, Math.min(this.order.length - 1, at));
    const top = this.active * ROW;
    const room = this.element.clientHeight - this.head.offsetHeight - ROW;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
    this.draw();
    const now = this.shown.get(this.active);
    now?.classList.add("active");
    now?.setAttribute("aria-selected", "true");
    this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    if (opens) this.opened(this.order[this.active]);
  }

  key(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const moves = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.order.length - 1,
    };
    if (event.key in moves) this.activate(moves[event.key], false);
    else if (event.key === "Enter" || event.key === " ") this.activate(Math.max(0, this.active), true);
    else return;
    event.preventDefault();
  }
}
Grid.made = 0;
