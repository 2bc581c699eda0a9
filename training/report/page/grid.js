// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table for many rows: only the rows in sight are elements. Arrow keys move, Enter opens, the heads sort.

const ROW_HEIGHT = 32;
const SPARE_ROWS = 8;

const leastWidth = ({ least, kind, label }) =>
  least ?? (kind === "number" ? Math.max(96, label.length * 7.4 + 40) : 190);

const classOf = ({ kind, mono }) => (kind === "number" ? "n" : mono ? "mono" : null);

/** `columns`: {key, label, doc, kind, mono, value(row), text(row), least, grows, cell(row)}. */
function Grid({ id, columns, rows, caption, onOpen = () => {} }) {
  const box = useRef(null);
  const { order, sortBy, directionOf } = useSort(columns, rows);
  const [chosen, setChosen] = useState(-1);
  const [sight, setSight] = useState([0, 0]);
  const active = chosen < order.length ? chosen : -1;
  const look = () => {
    const { scrollTop, clientHeight } = box.current;
    const first = Math.floor(scrollTop / ROW_HEIGHT);
    const end = Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT);
    setSight((old) => (old[0] === first && old[1] === end ? old : [first, end]));
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const sortAgain = (column) => {
    sortBy(column);
    setChosen(-1);
    box.current.scrollTop = 0;
  };
  const activate = (at, opens) => {
    if (!order.length) return;
    const next = Math.max(0, Math.min(order.length - 1, at));
    const top = next * ROW_HEIGHT;
    const room = box.current.clientHeight - box.current.firstChild.offsetHeight - ROW_HEIGHT;
    box.current.scrollTop = Math.max(Math.min(box.current.scrollTop, top), top - room);
    setChosen(next);
    if (opens) onOpen(order[next]);
  };
  const onKey = (event) => {
    if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(box.current.clientHeight / ROW_HEIGHT) - 2);
    const moves = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: order.length - 1,
    };
    if (event.key in moves) activate(moves[event.key], false);
    else if (event.key === "Enter" || event.key === " ") activate(Math.max(0, active), true);
    else return;
    event.preventDefault();
  };
  const widths = columns.map((column) => {
    const least = `${leastWidth(column)}px`;
    return (column.grows ?? column.kind !== "number") ? `minmax(${least}, 1fr)` : least;
  });
  const style = {
    "--columns": widths.join(" "),
    "--least": `${columns.reduce((sum, column) => sum + leastWidth(column), 0)}px`,
  };
  const first = Math.max(0, sight[0] - SPARE_ROWS);
  const row = (item, at) => html`
    <div key=${at} id="${id}-${at}" class=${`grid-row${at === active ? " active" : ""}`} role="row"
      aria-rowindex=${at + 2} aria-selected=${String(at === active)} onClick=${() => activate(at, true)}
      style=${{ transform: `translateY(${at * ROW_HEIGHT}px)` }}>
      ${columns.map((column) => {
        const text = column.text(item);
        const cell = column.cell?.(item);
        const title = !cell && text.length > 20 ? text : null;
        return html`<div role="gridcell" class=${classOf(column)} title=${title}>${cell ?? text}</div>`;
      })}
    </div>
  `;
  return html`
    <div class="grid" ref=${box} role="grid" tabindex="0" style=${style} onKeyDown=${onKey} onScroll=${look}
      aria-label=${caption} aria-colcount=${columns.length} aria-rowcount=${order.length + 1}
      aria-activedescendant=${active < 0 ? null : `${id}-${active}`}>
      <div role="rowgroup">
        <div class="grid-head" role="row" aria-rowindex="1">
          ${columns.map(
            (column) => html`
              <div role="columnheader" class=${column.kind === "number" ? "n" : null}
                title=${column.doc || column.label} aria-sort=${directionOf(column)}>
                <button type="button" class="sort" tabindex="-1" onClick=${() => sortAgain(column)}>
                  ${column.label}
                </button>
              </div>
            `,
          )}
        </div>
      </div>
      <div class="grid-body" role="rowgroup" style=${{ height: `${order.length * ROW_HEIGHT}px` }}>
        ${order.slice(first, sight[1] + SPARE_ROWS).map((item, at) => row(item, first + at))}
      </div>
    </div>
  `;
}
