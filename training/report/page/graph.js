// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call graph of a module: inlined calls are solid, refused ones dashed. It zooms and pans.

const NODE = { width: 176, height: 34 };
const GAP = { nodesep: 8, edgesep: 4, ranksep: 76 };
const MOST_NODES = 60; // around a function
const FIRST_NODES = 26; // before one is chosen
const READABLE = 0.8; // the scale at which names can be read
const EDGE_HUES = { inlined: "var(--accent)", refused: "var(--soft)", unlike: "var(--warn)" };

/**
 * Lays out a graph from left to right: callers before callees where there is no cycle. `edges` are pairs of
 * node numbers below `total`. Returns `{places: [{x, y}], routes: [[x, y] ...], width, height}`: the left
 * middle of every node, and the points through which every edge passes; none for an edge of a node to itself.
 */
function layOut(total, edges) {
  const graph = new vendor.Graph().setGraph({ rankdir: "LR", ...GAP }).setDefaultEdgeLabel(() => ({}));
  for (let node = 0; node < total; node++) graph.setNode(String(node), { ...NODE });
  for (const [from, to] of edges) if (from !== to) graph.setEdge(String(from), String(to));
  if (total) vendor.layout(graph);
  const nodes = Array.from({ length: total }, (_, node) => graph.node(String(node)));
  const columns = new Set(nodes.map(({ x }) => Math.round(x)));
  const half = NODE.width / 2;
  const route = ([from, to]) => {
    if (from === to) return [];
    const side = nodes[from].x <= nodes[to].x ? half : -half; // edges back leave on the left
    const { points } = graph.edge(String(from), String(to));
    const between = points.slice(1, -1).filter(({ x }) => columns.has(Math.round(x)));
    const stops = between.flatMap(({ x, y }) => [
      [x - side, y],
      [x + side, y],
    ]);
    return [[nodes[from].x + side, nodes[from].y], ...stops, [nodes[to].x - side, nodes[to].y]];
  };
  const places = nodes.map(({ x, y }) => ({ x: x - half, y }));
  const { width = 0, height = 0 } = graph.graph();
  return { places, routes: edges.map(route), width, height };
}

/** The path of an edge, horizontal at every point; of a call of itself if there are none. */
function edgePath(route, { x, y }) {
  return route.length
    ? vendor.line().curve(vendor.curveBumpX)(route)
    : `M${x + NODE.width} ${y + 6}c34 26 34 -38 0 -12`;
}

/** `shown(name)` gives the name to read; `onFilter(run, text)` shows calls in the table of decisions. */
function CallsSection({ runs, shown, onFilter }) {
  const modules = useMemo(() => runs.flatMap(modulesOf).sort((a, b) => b.rows.length - a.rows.length), []);
  const [at, setModule] = useState(0);
  const [kind, setKind] = useState("all");
  const [depth, setDepth] = useState(1);
  const [focus, setFocus] = useState(""); // the function that the graph is around
  const [chosen, setChosen] = useState(""); // the function that is described
  const [missing, setMissing] = useState(""); // a text that no name has
  const { run, rows } = modules[at];
  const graph = useMemo(() => callGraph(run, rows), [at]);
  const names = useMemo(() => [...graph.nodes.keys()].sort(), [graph]);
  const part = useMemo(
    () => neighbourhood(graph, focus, depth, focus ? MOST_NODES : FIRST_NODES, kind),
    [graph, focus, depth, kind],
  );
  const around = (name) => {
    setFocus(name);
    setChosen(name);
    setMissing("");
  };
  const lookFor = (text) => {
    const wanted = text.trim().toLowerCase();
    const exact = names.find((name) => shown(name) === text.trim());
    const found = exact ?? (wanted && names.find((name) => shown(name).toLowerCase().includes(wanted)));
    if (wanted && !found) setMissing(text.trim());
    else around(found);
  };
  const pick = (number) => {
    setModule(number);
    around("");
  };
  const labels = modules.map(({ run, name, rows }) => {
    const prefix = runs.length > 1 ? `${run.name}: ` : "";
    return `${prefix}${middle(name || run.name, 44)} (${count(rows.length)})`;
  });
  const controls = html`
    <${Choice} label="Calls" options=${EDGE_KINDS} value=${kind} onPick=${setKind} />
    ${
      modules.length > 1 &&
      html`<${Menu} label="Module" options=${numbered(labels)} value=${at} onPick=${pick} />`
    }
    <label class="field">
      Around
      <input type="search" list="functions" placeholder="Any function …" size="18"
        value=${missing || (focus && shown(focus))} onChange=${(event) => lookFor(event.target.value)} />
    </label>
    <datalist id="functions">
      ${names.slice(0, 3000).map((name) => html`<option value=${shown(name)} />`)}
    </datalist>
    <${Menu} label="up to" options=${DEPTHS} value=${depth} onPick=${setDepth} />
  `;
  useEffect(() => setMissing(""), [kind, depth]);
  const note = missing
    ? `No function of this module has “${missing}” in its name.`
    : partInWords(part, graph.nodes.size, focus);
  return html`
    <${Section} id="calls" title="Calls" controls=${controls}
      text="Callers are on the left. An arrow stands for all calls between two functions.">
      <div class="stack">
        <${GraphBox} ...${{ graph, part, chosen, shown, around }} onChoose=${setChosen} />
        <div class="legend">
          ${GRAPH_LEGEND.map(
            ([style, kind, text]) =>
              html`<span><i class="thin ${style}" style=${{ "--hue": EDGE_HUES[kind] }} />${text}</span>`,
          )}
          <span>
            Dashed box: every call of it was inlined. Drag to move; Ctrl and the wheel, or + and −, to zoom.
          </span>
        </div>
        <p class="note" role="status">${note}</p>
        ${chosen && html`<${FunctionCalls} ...${{ graph, name: chosen, shown, around, run, onFilter }} />`}
      </div>
    <//>
  `;
}

const EDGE_KINDS = [
  ["all", "All"],
  ["inlined", "Inlined"],
  ["refused", "Refused"],
  ["unlike", "Unlike the default"],
];

const DEPTHS = [1, 2, 3, 6].map((depth) => [depth, things(depth, "call")]);

const GRAPH_LEGEND = [
  ["", "inlined", "inlined"],
  ["dash", "refused", "refused"],
  ["", "unlike", "unlike the default"],
];

/** How much of a graph a part of it shows. */
function partInWords({ names, left }, all, focus) {
  if (!names.length) return "No call is of this kind.";
  const which = focus ? "" : ", those with most decisions";
  const choose = "Choose a function to see the calls around it.";
  const some = `${count(names.length)} of ${count(all)} functions${which}. ${choose}`;
  const arrows = left ? ` ${things(left, "arrow")} with few calls left out.` : "";
  return (names.length < all ? some : `${things(all, "function")}.`) + arrows;
}

/** The picture of a part of a call graph, with the buttons that move it. */
function GraphBox({ graph, part, chosen, shown, around, onChoose }) {
  const [whole, setWhole] = useState(false); // in the whole window
  const laid = useMemo(() => {
    const number = new Map(part.names.map((name, at) => [name, at]));
    return layOut(
      part.names.length,
      part.edges.map(({ from, to }) => [number.get(from), number.get(to)]),
    );
  }, [part]);
  const [svg, layer] = [useRef(null), useRef(null)];
  const move = useZoom(svg, layer, laid, whole);
  const near = new Set([
    chosen,
    ...part.edges.flatMap(({ from, to }) => (from === chosen || to === chosen ? [from, to] : [])),
  ]);
  const dim = (isNear) => (chosen && !isNear ? " dim" : "");
  const onKey = (event) => {
    const name = event.target.dataset.name;
    const pans = { ArrowLeft: [50, 0], ArrowRight: [-50, 0], ArrowUp: [0, 50], ArrowDown: [0, -50] };
    if (name && event.key === "Enter") onChoose(name);
    else if (name && event.key === " ") around(name);
    else if (name && (event.key === "n" || event.key === "p"))
      stepFocus(event.target, event.key === "n" ? 1 : -1);
    else if (event.key in pans) move.pan(...pans[event.key]);
    else if (event.key === "+" || event.key === "=") move.zoom(1.2);
    else if (event.key === "-") move.zoom(1 / 1.2);
    else if (event.key === "0") move.fit();
    else if (event.key === "Escape") whole ? setWhole(false) : onChoose("");
    else return;
    event.preventDefault();
  };
  const onClick = (event) => event.target === svg.current && onChoose("");
  const edges = things(part.edges.length, "edge");
  const label = `Call graph with ${things(part.names.length, "function")} and ${edges}`;
  const buttons = [
    ["M8 3v10M3 8h10", "Zoom in", () => move.zoom(1.3)],
    ["M3 8h10", "Zoom out", () => move.zoom(1 / 1.3)],
    ["M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3M6 8h4", "Fit", () => move.fit()],
    ["M9.5 3H13v3.5M13 3 9 7M6.5 13H3V9.5M3 13l4-4", "Whole window", () => setWhole(!whole)],
  ];
  return html`
    <div class=${`card graph-box${whole ? " whole" : ""}`}>
      <svg class="graph" ref=${svg} tabindex="0" role="group" aria-roledescription="call graph"
        aria-label=${label} onKeyDown=${onKey} onClick=${onClick}>
        <defs>
          ${Object.entries(EDGE_HUES).map(
            ([kind, hue]) => html`
              <marker id="arrow-${kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
                markerUnits="userSpaceOnUse" orient="auto"><path d="M0 1 7 4 0 7Z" fill=${hue} /></marker>
            `,
          )}
        </defs>
        <g ref=${layer}>
          ${part.edges.map((edge, at) => {
            const own = edge.from === chosen || edge.to === chosen;
            const path = edgePath(laid.routes[at], laid.places[part.names.indexOf(edge.from)]);
            return html`<${GraphEdge} edge=${edge} path=${path} dim=${dim(own)} shown=${shown} />`;
          })}
          ${part.names.map(
            (name, at) => html`
              <${GraphNode} key=${name} node=${graph.nodes.get(name)} place=${laid.places[at]} shown=${shown}
                first=${at === 0} state=${(name === chosen ? " chosen" : "") + dim(near.has(name))}
                onClick=${() => onChoose(name)} onDblClick=${() => around(name)} />
            `,
          )}
        </g>
      </svg>
      <div class="graph-buttons">
        ${buttons.map(
          ([shape, label, run]) => html`
            <button type="button" class="quiet" aria-label=${label} title=${label} onClick=${run}>
              <${Icon} shape=${shape} />
            </button>
          `,
        )}
      </div>
    </div>
  `;
}

/** Moves the focus to the next function, or by -1 to the one before. */
function stepFocus(element, by) {
  const all = [...element.parentNode.querySelectorAll(".node")];
  moveFocus(element, all[(all.indexOf(element) + by + all.length) % all.length]);
}

function GraphEdge({ edge, path, dim, shown }) {
  const { from, to, inlined, refused, unlike } = edge;
  const kind = unlike ? "unlike" : inlined ? "inlined" : "refused";
  const calls = `${inlined} inlined, ${refused} refused${unlike ? `, ${unlike} unlike the default` : ""}`;
  const thick = Math.min(3.4, 1.1 + Math.log2(Math.max(1, inlined)) * 0.5);
  return html`
    <path class=${`edge ${kind}${inlined ? "" : " refused"}${dim}`} d=${path} marker-end="url(#arrow-${kind})"
      style=${{ "--thick": `${thick}px` }} ...${tipped(() => `${shown(from)} → ${shown(to)}\n${calls}`)} />
  `;
}

function GraphNode({ node, place, shown, first, state, onClick, onDblClick }) {
  const { name, made, received, inlined } = node;
  const absorbed = received > 0 && inlined === received ? " absorbed" : "";
  return html`
    <g class=${`node${absorbed}${state}`} tabindex=${first ? 0 : -1} role="button" data-name=${name}
      aria-describedby="tip" transform="translate(${place.x} ${place.y - NODE.height / 2})"
      onClick=${onClick} onDblClick=${onDblClick} ...${tipped(() => shown(name))}>
      <rect width=${NODE.width} height=${NODE.height} rx="6" />
      <text x="10" y="14.5">${middle(brief(shown(name)), 23)}</text>
      <text class="sub" x="10" y="27.5">
        ${received ? `${inlined} of ${things(received, "call")} inlined` : `${things(made, "call")} made`}
      </text>
    </g>
  `;
}

/** Lets the pointer and the wheel move `layer` in `svg`; returns how to do so by keys and buttons. */
function useZoom(svg, layer, laid, whole) {
  const zoom = useMemo(() => vendor.zoom().scaleExtent([0.08, 4]).clickDistance(4), []);
  zoom.filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey || whole : !event.button));
  const call = (method, ...values) => vendor.select(svg.current).call(method, ...values);
  /** Shows the whole graph; a large one from its left end, in a size that can be read. */
  const fit = () => {
    const { clientWidth: width, clientHeight: height } = svg.current;
    const tall = (height - 48) / laid.height;
    const all = Math.min(1.15, (width - 48) / laid.width, tall);
    const scale = Math.max(all, Math.min(READABLE, Math.max(all, tall)));
    const x = Math.max(24, (width - laid.width * scale) / 2);
    const y = (height - laid.height * scale) / 2;
    if (laid.width) call(zoom.transform, vendor.zoomIdentity.translate(x, y).scale(scale));
  };
  useLayoutEffect(() => {
    const isMoving = (moving) => () => svg.current.classList.toggle("moving", moving);
    zoom
      .extent(() => [
        [0, 0],
        [svg.current.clientWidth, svg.current.clientHeight],
      ])
      .wheelDelta((event) => -event.deltaY * 0.0032)
      .on("start", ({ sourceEvent }) => isMoving(sourceEvent?.type === "mousedown")())
      .on("zoom", ({ transform }) => layer.current.setAttribute("transform", transform))
      .on("end", isMoving(false));
    call(zoom).on("dblclick.zoom", null);
  }, []);
  useLayoutEffect(fit, [laid, whole]);
  const scale = () => vendor.zoomTransform(svg.current).k;
  return {
    fit,
    zoom: (factor) => call(zoom.scaleBy, factor),
    pan: (x, y) => call(zoom.translateBy, x / scale(), y / scale()),
  };
}

/** What is known of a function: its callers and its callees. */
function FunctionCalls({ graph, name, shown, around, run, onFilter }) {
  const { made, received } = graph.nodes.get(name);
  const filter = (key) => () => onFilter(run, `${key}="${shown(name)}"`);
  const edges = (key) => graph.edges.filter((edge) => edge[key] === name);
  return html`
    <div class="card pad stack">
      <h3 class="mono">${shown(name)}</h3>
      <div class="controls">
        <button type="button" class="button" onClick=${() => around(name)}>Show its surroundings</button>
        <button type="button" class="button" onClick=${filter("caller")}>
          ${things(made, "decision")} in it
        </button>
        <button type="button" class="button" onClick=${filter("callee")}>
          ${things(received, "decision")} about calls of it
        </button>
      </div>
      <div class="two">
        <${CallList} title="Called by" edges=${edges("to")} side="from" shown=${shown} around=${around} />
        <${CallList} title="Calls" edges=${edges("from")} side="to" shown=${shown} around=${around} />
      </div>
    </div>
  `;
}

/** The busiest edges of a function, by the function at their other `side`. */
function CallList({ title, edges, side, shown, around }) {
  edges.sort((a, b) => b.inlined + b.refused - a.inlined - a.refused);
  return html`
    <div>
      <h3>${title}</h3>
      <ul class="call-list">
        ${edges.slice(0, 12).map(
          ({ [side]: name, inlined, refused }) => html`
            <li>
              <button type="button" class="link" title=${shown(name)} onClick=${() => around(name)}>
                ${middle(brief(shown(name)), 40)}
              </button>
              <span class="soft">${inlined} inlined, ${refused} refused</span>
            </li>
          `,
        )}
        ${!edges.length && html`<li class="soft">no decision</li>`}
        ${edges.length > 12 && html`<li class="soft">and ${edges.length - 12} more</li>`}
      </ul>
    </div>
  `;
}
