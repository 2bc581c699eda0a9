// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the bytes went: the functions before and after as two treemaps, and the largest changes as a table.

const MOST_CELLS = 420;
const FULL_COLOUR = 0.4; // a change by this share has the whole colour

/** Rectangles {x, y, width, height, item} that fill `width` × `height` by `size(item)`, largest first. */
function treemapCells(items, size, width, height) {
  if (!items.length) return [];
  const root = vendor.hierarchy({ items }, (node) => node.items).sum((node) => (node.items ? 0 : size(node)));
  root.sort((a, b) => b.value - a.value);
  vendor.treemap().tile(vendor.treemapSquarify.ratio(1)).size([width, height])(root);
  return root
    .leaves()
    .map(({ x0, y0, x1, y1, data }) => ({ x: x0, y: y0, width: x1 - x0, height: y1 - y0, item: data }));
}

/** `functions`: [{name, before, after}]; `labels` name the sides; `rest` is [before, after] of the others. */
function Treemaps({ functions, labels, rest, shown }) {
  const maps = useRef(null);
  const { sorted, items, others } = useMemo(() => largestFunctions(functions, rest), []);
  const totals = ["before", "after"].map((side) =>
    items.reduce((sum, item) => sum + item[side], others[side]),
  );
  const light = (event) => {
    const at = event.type === "pointerover" ? event.target.closest("button")?.dataset.at : null;
    for (const cell of maps.current.querySelectorAll("button"))
      cell.classList.toggle("lit", cell.dataset.at === at);
  };
  return html`
    <div class="stack">
      <div class="card pad stack">
        <div class="maps" ref=${maps} onPointerOver=${light} onPointerLeave=${light}>
          ${labels.map(
            (label, at) => html`<${TreemapSide} ...${{ label, at, totals, items, others, shown }} />`,
          )}
        </div>
        <div class="legend">
          <span>smaller <i class="scale" /> larger</span>
          <span>Stripes: only on one side. The areas of both maps have the same scale.</span>
        </div>
      </div>
      <${ChangedFunctions} functions=${sorted} shown=${shown} />
    </div>
  `;
}

/** The functions of any size, largest first; those of them that get a cell; and one item for all others. */
function largestFunctions(functions, rest) {
  const size = ({ before, after }) => Math.max(before, after);
  const sorted = functions.filter(size).sort((a, b) => size(b) - size(a));
  const small = sorted.slice(MOST_CELLS);
  const sum = (side, first) => small.reduce((total, item) => total + item[side], first);
  const others = {
    name: "",
    before: sum("before", rest[0]),
    after: sum("after", rest[1]),
    many: small.length,
  };
  return { sorted, items: sorted.slice(0, MOST_CELLS), others };
}

function TreemapSide({ label, at, totals, items, others, shown }) {
  const [box, width] = useWidth();
  const side = at ? "after" : "before";
  const height = Math.round(
    Math.max(240, Math.min(460, width * 0.66)) * (totals[at] / Math.max(...totals, 1)),
  );
  const below = (height * others[side]) / (totals[at] || 1);
  const drawn = items.filter((item) => item[side] > 0);
  const cells = width ? treemapCells(drawn, (item) => item[side], width, height - below) : [];
  if (below) cells.push({ x: 0, y: height - below, width, height: below, item: others });
  const ratio = at && totals[0] ? ` (${change(totals[1] / totals[0])})` : "";
  const itemOf = (event) => cells[[...box.current.children].indexOf(event.target.closest("button"))]?.item;
  const tips = tipped((event) => itemOf(event) && sizesInWords(itemOf(event), shown));
  return html`
    <div>
      <div class="map-head"><span><b>${label}</b></span><span>${count(totals[at])} bytes${ratio}</span></div>
      <div class="map" ref=${box} style=${{ height: `${height}px` }} role="group"
        aria-label="Functions by size, ${side}" onKeyDown=${walkCells} ...${tips}>
        ${cells.map((cell, number) => {
          const at = items.indexOf(cell.item);
          return html`<${TreemapCell} ...${{ cell, number, at, side, shown }} />`;
        })}
      </div>
    </div>
  `;
}

function TreemapCell({ cell: { x, y, width, height, item }, number, side, shown, at }) {
  const labelled = width > 44 && height > 17;
  const others = item.many ? things(item.many, "smaller function") : "other functions";
  const style = {
    "--hue": hueOf(item),
    width: `${width}px`,
    height: `${height}px`,
    transform: `translate(${x}px, ${y}px)`,
  };
  return html`
    <button type="button" class=${item.before && item.after ? null : "gone"} style=${style} data-at=${at}
      tabindex=${number ? -1 : 0} aria-describedby="tip"
      aria-label=${labelled ? null : sizesInWords(item, shown)}>
      ${labelled && html`<span>${item.name ? brief(shown(item.name)) : others}</span>`}
      ${labelled && height > 33 && html`<span>${count(item[side])}</span>`}
    </button>
  `;
}

function sizesInWords({ name, before, after }, shown) {
  const ratio = before && after ? `, ${change(after / before)}` : "";
  const sizes = `${count(before)} → ${count(after)} bytes (${signed(after - before)}${ratio})`;
  return `${name ? shown(name) : "All other functions"}\n${sizes}`;
}

/** Arrow keys walk through the cells by size. */
function walkCells(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const cells = [...event.currentTarget.children];
  const now = cells.indexOf(event.target);
  if (!step || now < 0) return;
  event.preventDefault();
  moveFocus(event.target, cells[Math.max(0, Math.min(cells.length - 1, now + step))]);
}

function ChangedFunctions({ functions, shown }) {
  const changed = functions.filter(({ before, after }) => before !== after);
  if (!changed.length) return html`<p class="card empty">No function has changed its size.</p>`;
  const columns = [
    functionColumn(shown, 48),
    numberColumn("before", (row) => row.before),
    numberColumn("after", (row) => row.after),
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
  const options = {
    caption: "Functions by change",
    sort: { at: "bytes", falls: true },
    label: "changed functions",
  };
  return html`<div class="card"><${Table} columns=${columns} rows=${changed} ...${options} /></div>`;
}

/** The colour of a cell: green for smaller, orange for larger, grey for the same. */
function hueOf({ before, after }) {
  const part = before && after ? (after - before) / before : after ? 1 : -1;
  if (!part) return "var(--cell)";
  const strength = Math.round(25 + 75 * Math.min(1, Math.abs(part) / FULL_COLOUR));
  return `color-mix(in oklab, var(--map-${part < 0 ? "good" : "bad"}) ${strength}%, var(--cell))`;
}
