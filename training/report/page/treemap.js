// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the bytes went: the functions before and after as two treemaps, and the largest changes as a table.

const MOST_CELLS = 420;
const FULL_COLOUR = 0.4; // a change by this share has the whole colour

/** `functions`: [{name, before, after}]; `labels` name the sides; `rest` is [before, after] of the others. */
class Treemaps {
  constructor(functions, labels, rest, shown) {
    this.shown = shown;
    this.labels = labels;
    const size = (each) => Math.max(each.before, each.after);
    const sorted = functions.filter((each) => size(each) > 0).sort((a, b) => size(b) - size(a));
    this.functions = sorted.slice(0, MOST_CELLS);
    const small = sorted.slice(MOST_CELLS);
    const others = small.reduce((sum, each) => [sum[0] + each.before, sum[1] + each.after], [...rest]);
    this.others = { name: "", before: others[0], after: others[1], many: small.length };
    this.functions.push(this.others);
    this.totals = ["before", "after"].map((side) =>
      this.functions.reduce((sum, each) => sum + each[side], 0),
    );
    this.all = sorted;
    this.element = h("div", { class: "stack" }, this.maps(), this.changes());
  }

  maps() {
    this.cells = [[], []];
    this.boxes = ["before", "after"].map((side) =>
      h("div", {
        class: "map",
        role: "group",
        "aria-label": `Functions by size, ${side}`,
        onkeydown: (event) => this.move(event),
      }),
    );
    const [before, after] = this.totals;
    const heads = this.labels.map((label, at) =>
      h(
        "div",
        { class: "map-head" },
        h("span", {}, h("b", {}, label)),
        h("span", {}, `${count(this.totals[at])} bytes`, at && before ? ` (${change(after / before)})` : ""),
      ),
    );
    this.boxes.forEach((box, side) => onWidth(box, (width) => this.drawSide(side, width)));
    const legend = h(
      "div",
      { class: "legend" },
      h("span", {}, "smaller ", h("i", { class: "scale" }), " larger"),
      h("span", {}, "Stripes: only on one side. The areas of both maps have the same scale."),
    );
    return h(
      "div",
      { class: "card pad stack" },
      h(
        "div",
        { class: "maps" },
        this.boxes.map((box, at) => h("div", {}, heads[at], box)),
      ),
      legend,
    );
  }

  drawSide(side, width) {
    const key = side ? "after" : "before";
    const most = Math.max(...this.totals, 1);
    const height = Math.round(Math.max(240, Math.min(460, width * 0.66)) * (this.totals[side] / most));
    const box = this.boxes[side];
    box.style.height = `${height}px`;
    const drawn = this.functions
      .map((each, at) => ({ each, at }))
      .filter(({ each }) => each[key] > 0 && each !== this.others);
    const below = (height * this.others[key]) / (this.totals[side] || 1);
    const places = squarify(
      drawn.map(({ each }) => each[key]),
      width,
      height - below,
    );
    if (below) {
      drawn.push({ each: this.others, at: this.functions.length - 1 });
      places.push({ x: 0, y: height - below, width, height: below, at: drawn.length - 1 });
    }
    this.cells[side] = [];
    box.replaceChildren(
      ...places.map((place, number) => {
        const { each, at } = drawn[place.at];
        const cell = this.cell(each, at, place, key);
        if (number) cell.tabIndex = -1;
        this.cells[side].push(cell);
        return cell;
      }),
    );
  }

  cell(each, at, place, key) {
    const labelled = place.width > 44 && place.height > 17;
    const name = each.name
      ? brief(this.shown(each.name))
      : each.many
        ? things(each.many, "smaller function")
        : "other functions";
    const cell = h(
      "button",
      {
        type: "button",
        class: each.before && each.after ? null : "gone",
        "--hue": hueOf(each),
        "aria-label": labelled ? null : this.told(each),
        "aria-describedby": "tip",
        ...tipped(() => this.told(each)),
        onpointerenter: () => this.light(at, true),
        onpointerout: () => this.light(at, false),
      },
      labelled && h("span", {}, name),
      labelled && place.height > 33 && h("span", {}, count(each[key])),
    );
    cell.dataset.at = at;
    Object.assign(cell.style, {
      width: `${place.width}px`,
      height: `${place.height}px`,
      transform: `translate(${place.x}px, ${place.y}px)`,
    });
    return cell;
  }

  told(each) {
    const name = each.name ? this.shown(each.name) : "All other functions";
    const differs = each.after - each.before;
    const ratio = each.before && each.after ? `, ${change(each.after / each.before)}` : "";
    return `${name}\n${count(each.before)} → ${count(each.after)} bytes (${signed(differs)}${ratio})`;
  }

  light(at, on) {
    for (const side of this.cells)
      side.find((cell) => cell.dataset.at === String(at))?.classList.toggle("lit", on);
  }

  /** Arrow keys walk through the cells by size. */
  move(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const cells = [...event.currentTarget.children];
    const now = cells.indexOf(event.target);
    if (!step || now < 0) return;
    event.preventDefault();
    const next = cells[Math.max(0, Math.min(cells.length - 1, now + step))];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  changes() {
    const changed = this.all.filter((each) => each.before !== each.after);
    if (!changed.length) return h("p", { class: "card empty" }, "No function has changed its size.");
    const columns = [
      {
        label: "function",
        kind: "mono",
        value: (row) => this.shown(row.name),
        text: (row) => middle(brief(this.shown(row.name)), 48),
        title: (row) => this.shown(row.name),
      },
      { label: "before", kind: "number", value: (row) => row.before, text: (row) => count(row.before) },
      { label: "after", kind: "number", value: (row) => row.after, text: (row) => count(row.after) },
      {
        label: "bytes",
        kind: "number",
        value: (row) => Math.abs(row.after - row.before),
        text: (row) => signed(row.after - row.before),
        tone: (row) => (row.after < row.before ? "good" : "bad"),
      },
      {
        label: "change",
        kind: "change",
        value: (row) => (row.before ? row.after / row.before : null),
        text: (row) => (!row.before ? "new" : row.after ? change(row.after / row.before) : "gone"),
      },
    ];
    const lens = new Lens(columns, changed, {
      caption: "Functions by change",
      sort: { at: 3, falls: true },
      label: "changed functions",
    });
    return h("div", { class: "card" }, lens.element);
  }
}

/** The colour of a cell: green for smaller, orange for larger, grey for the same. */
function hueOf({ before, after }) {
  const part = before && after ? (after - before) / before : after ? 1 : -1;
  if (!part) return "var(--cell)";
  const strength = Math.round(25 + 75 * Math.min(1, Math.abs(part) / FULL_COLOUR));
  return `color-mix(in oklab, ${part < 0 ? "var(--map-good)" : "var(--map-bad)"} ${strength}%, var(--cell))`;
}
