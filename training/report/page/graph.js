// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call graph of a module: inlined calls are solid, refused ones dashed. It zooms and pans.

const MOST_NODES = 60; // around a function
const FIRST_NODES = 26; // before one is chosen
const READABLE = 0.8; // the scale at which names can be read

/** `shown(name)` gives the name to read; `filter(text)` shows calls in the table of decisions. */
class GraphView {
  constructor(runs, shown, filter) {
    Object.assign(this, { runs, shown, filter, focus: "", depth: 1, chosen: "", kind: "all" });
    this.view = { x: 0, y: 0, scale: 1 };
    this.layer = s("g");
    this.svg = s(
      "svg",
      {
        class: "graph",
        tabindex: "0",
        role: "group",
        "aria-roledescription": "call graph",
        onkeydown: (event) => this.key(event),
      },
      s(
        "defs",
        {},
        ["inlined", "refused", "unlike"].map((kind) => this.arrow(kind)),
      ),
      this.layer,
    );
    this.listen();
    const buttons = [
      ["M8 3v10M3 8h10", "Zoom in", () => this.zoom(1.3)],
      ["M3 8h10", "Zoom out", () => this.zoom(1 / 1.3)],
      ["M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3M6 8h4", "Fit", () => this.fit()],
      ["M9.5 3H13v3.5M13 3 9 7M6.5 13H3V9.5M3 13l4-4", "Whole window", () => this.whole()],
    ];
    this.box = h(
      "div",
      { class: "card graph-box" },
      this.svg,
      h(
        "div",
        { class: "graph-buttons" },
        buttons.map(([shape, label, run]) =>
          h(
            "button",
            { type: "button", class: "quiet", "aria-label": label, title: label, onclick: run },
            icon(shape),
          ),
        ),
      ),
    );
    this.note = h("p", { class: "note", role: "status" });
    this.side = h("div", { class: "card pad", hidden: true });
    this.element = h("div", { class: "stack" }, this.box, this.legend(), this.note, this.side);
    this.modules = runs.flatMap((run) => modulesOf(run).map(([name, rows]) => ({ run, name, rows })));
    this.modules.sort((a, b) => b.rows.length - a.rows.length);
    this.controls = this.makeControls();
    this.pick(0);
  }

  arrow(kind) {
    const hue = { inlined: "var(--accent)", refused: "var(--soft)", unlike: "var(--warn)" }[kind];
    return s(
      "marker",
      {
        id: `arrow-${kind}`,
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
      },
      s("path", { d: "M0 1 7 4 0 7Z", fill: hue }),
    );
  }

  legend() {
    const rows = [
      ["", "--accent", "inlined"],
      ["dash", "--soft", "refused"],
      ["", "--warn", `unlike the default`],
    ];
    return h(
      "div",
      { class: "legend" },
      rows.map(([kind, hue, text]) =>
        h("span", {}, h("i", { class: `thin ${kind}`, "--hue": `var(${hue})` }), text),
      ),
      h(
        "span",
        {},
        "Dashed box: every call of it was inlined. Drag to move; Ctrl and the wheel, or + and −, to zoom.",
      ),
    );
  }

  makeControls() {
    const names = this.modules.map(({ run, name, rows }, at) => [
      String(at),
      `${this.runs.length > 1 ? `${run.name}: ` : ""}${middle(name || run.name, 44)} (${count(rows.length)})`,
    ]);
    this.list = h("datalist", { id: "functions" });
    this.input = h("input", {
      type: "search",
      list: "functions",
      placeholder: "Any function …",
      size: "18",
      onchange: () => this.lookFor(this.input.value),
    });
    const kinds = [
      ["all", "All"],
      ["inlined", "Inlined"],
      ["refused", "Refused"],
      ["unlike", "Unlike the default"],
    ];
    return [
      choice("Calls", kinds, "all", (kind) => ((this.kind = kind), this.draw())),
      this.modules.length > 1 && menu("Module", names, "0", (at) => this.pick(Number(at))),
      h("label", { class: "field" }, "Around", this.input),
      this.list,
      menu(
        "up to",
        [
          ["1", "1 call"],
          ["2", "2 calls"],
          ["3", "3 calls"],
          ["6", "6 calls"],
        ],
        "1",
        (depth) => ((this.depth = Number(depth)), this.draw()),
      ),
    ];
  }

  pick(at) {
    const { run, rows } = this.modules[at];
    this.run = run;
    this.graph = callGraph(run, rows);
    this.focus = this.chosen = "";
    this.input.value = "";
    const names = [...this.graph.nodes.keys()].sort();
    this.byShown = new Map(names.map((name) => [this.shown(name), name]));
    this.list.replaceChildren(
      ...names.slice(0, 3000).map((name) => h("option", { value: this.shown(name) })),
    );
    this.draw();
  }

  lookFor(text) {
    const wanted = text.trim().toLowerCase();
    const exact = this.byShown.get(text.trim());
    const found =
      exact ?? [...this.byShown].find(([shown]) => wanted && shown.toLowerCase().includes(wanted))?.[1] ?? "";
    this.focus = this.chosen = found;
    if (wanted && !found) {
      this.note.textContent = `No function of this module has “${text.trim()}” in its name.`;
      return;
    }
    this.draw();
  }

  draw() {
    const part = neighbourhood(
      this.graph,
      this.focus,
      this.depth,
      this.focus ? MOST_NODES : FIRST_NODES,
      this.kind,
    );
    const number = new Map(part.names.map((name, at) => [name, at]));
    const laid = layOut(
      part.names.length,
      part.edges.map(({ from, to }) => [number.get(from), number.get(to)]),
    );
    this.part = { ...part, ...laid };
    this.edgeElements = part.edges.map((edge, at) =>
      this.edge(edge, laid.routes[at], laid.places[number.get(edge.from)]),
    );
    this.nodeElements = part.names.map((name, at) => this.node(name, laid.places[at], at));
    this.layer.replaceChildren(...this.edgeElements, ...this.nodeElements);
    const [some, all] = [part.names.length, this.graph.nodes.size];
    this.svg.setAttribute(
      "aria-label",
      `Call graph with ${things(some, "function")} and ${things(part.edges.length, "edge")}`,
    );
    this.note.textContent = this.words(some, all, part.left);
    this.fit();
    this.select(this.chosen);
  }

  words(some, all, left) {
    if (!some) return "No call is of this kind.";
    const which = this.focus ? "" : ", those with most decisions";
    const choose = "Choose a function to see the calls around it.";
    const shown =
      some < all
        ? `${count(some)} of ${count(all)} functions${which}. ${choose}`
        : `${things(all, "function")}.`;
    return left ? `${shown} ${things(left, "arrow")} with few calls left out.` : shown;
  }

  node(name, place, at) {
    const data = this.graph.nodes.get(name);
    const absorbed = data.received > 0 && data.inlined === data.received;
    const label = middle(brief(this.shown(name)), 23);
    const sub = data.received
      ? `${data.inlined} of ${things(data.received, "call")} inlined`
      : things(data.made, "call") + " made";
    const element = s(
      "g",
      {
        class: `node${absorbed ? " absorbed" : ""}`,
        tabindex: at ? "-1" : "0",
        role: "button",
        transform: `translate(${place.x} ${place.y - NODE.height / 2})`,
        "aria-describedby": "tip",
        onclick: () => this.moved || this.select(name),
        ondblclick: () => this.around(name),
        ...tipped(() => this.shown(name)),
      },
      s("rect", { width: NODE.width, height: NODE.height, rx: 6 }),
      s("text", { x: 10, y: 14.5 }, label),
      s("text", { class: "sub", x: 10, y: 27.5 }, sub),
    );
    element.dataset.name = name;
    return element;
  }

  edge(edge, route, from) {
    const kind = edge.unlike ? "unlike" : edge.inlined ? "inlined" : "refused";
    const dashed = edge.inlined ? "" : " refused";
    const path = route.length ? curved(route) : loop(from);
    return s("path", {
      class: `edge ${kind}${dashed}`,
      d: path,
      "marker-end": `url(#arrow-${kind})`,
      "--thick": `${Math.min(3.4, 1.1 + Math.log2(Math.max(1, edge.inlined)) * 0.5)}px`,
      ...tipped(() => this.told(edge)),
    });
  }

  told(edge) {
    const unlike = edge.unlike ? `, ${edge.unlike} unlike the default` : "";
    const calls = `${edge.inlined} inlined, ${edge.refused} refused${unlike}`;
    return `${this.shown(edge.from)} → ${this.shown(edge.to)}\n${calls}`;
  }

  /** Shows what is known of a function, and fades what is not around it. */
  select(name) {
    this.chosen = name;
    const near = new Set([name]);
    this.part.edges.forEach((edge, at) => {
      const own = edge.from === name || edge.to === name;
      if (own) [edge.from, edge.to].forEach((each) => near.add(each));
      this.edgeElements[at].classList.toggle("dim", Boolean(name) && !own);
    });
    for (const element of this.nodeElements) {
      element.classList.toggle("dim", Boolean(name) && !near.has(element.dataset.name));
      element.classList.toggle("chosen", element.dataset.name === name);
    }
    this.side.hidden = !name;
    if (name) this.describe(name);
  }

  describe(name) {
    const data = this.graph.nodes.get(name);
    const list = (title, edges, key) =>
      h(
        "div",
        {},
        h("h3", {}, title),
        h(
          "ul",
          { class: "call-list" },
          edges.slice(0, 12).map((edge) =>
            h(
              "li",
              {},
              h(
                "button",
                {
                  type: "button",
                  class: "link",
                  title: this.shown(edge[key]),
                  onclick: () => this.around(edge[key]),
                },
                middle(brief(this.shown(edge[key])), 40),
              ),
              h("span", { class: "soft" }, `${edge.inlined} inlined, ${edge.refused} refused`),
            ),
          ),
          !edges.length && h("li", { class: "soft" }, "no decision"),
          edges.length > 12 && h("li", { class: "soft" }, `and ${edges.length - 12} more`),
        ),
      );
    const busiest = (a, b) => b.inlined + b.refused - a.inlined - a.refused;
    const calls = this.graph.edges.filter((edge) => edge.from === name).sort(busiest);
    const callers = this.graph.edges.filter((edge) => edge.to === name).sort(busiest);
    this.side.replaceChildren(
      h("h3", { class: "mono" }, this.shown(name)),
      h(
        "div",
        { class: "controls" },
        h(
          "button",
          { type: "button", class: "button", onclick: () => this.around(name) },
          "Show its surroundings",
        ),
        h(
          "button",
          {
            type: "button",
            class: "button",
            onclick: () => this.filter(this.run, `caller="${this.shown(name)}"`),
          },
          `${things(data.made, "decision")} in it`,
        ),
        h(
          "button",
          {
            type: "button",
            class: "button",
            onclick: () => this.filter(this.run, `callee="${this.shown(name)}"`),
          },
          `${things(data.received, "decision")} about calls of it`,
        ),
      ),
      h("div", { class: "two" }, list("Called by", callers, "from"), list("Calls", calls, "to")),
    );
    this.side.classList.add("stack");
  }

  around(name) {
    this.focus = this.chosen = name;
    this.input.value = this.shown(name);
    this.draw();
  }

  // --- Moving the picture --------------------------------------------------------------------------------

  place() {
    const { x, y, scale } = this.view;
    this.layer.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  /** Shows the whole graph; a large one from its left end, in a size that can be read. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (!width) return void requestAnimationFrame(() => this.svg.isConnected && this.fit());
    const whole = Math.min(1.15, (width - 48) / this.part.width, (height - 48) / this.part.height);
    const scale = Math.max(whole, Math.min(READABLE, Math.max(whole, (height - 48) / this.part.height)));
    const rest = (room, size) => Math.max(24, (room - size * scale) / 2);
    this.view = {
      scale,
      x: rest(width, this.part.width),
      y: (height - this.part.height * scale) / 2 + (NODE.height * scale) / 2,
    };
    this.place();
  }

  zoom(factor, at = { x: this.svg.clientWidth / 2, y: this.svg.clientHeight / 2 }) {
    const scale = Math.max(0.08, Math.min(4, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { scale, x: at.x - (at.x - this.view.x) * real, y: at.y - (at.y - this.view.y) * real };
    this.place();
  }

  pan(x, y) {
    this.view.x += x;
    this.view.y += y;
    this.place();
  }

  whole() {
    this.box.classList.toggle("whole");
    this.fit();
  }

  listen() {
    const pointers = new Map();
    const spot = (event) => {
      const box = this.svg.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    this.svg.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, spot(event));
      this.moved = false;
    });
    this.svg.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = spot(event);
      if (!this.moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
      if (!this.moved) this.svg.setPointerCapture(event.pointerId);
      this.moved = true;
      this.svg.classList.add("moving");
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other)
        this.zoom(
          Math.hypot(now.x - other.x, now.y - other.y) /
            (Math.hypot(before.x - other.x, before.y - other.y) || 1),
          other,
        );
      else this.pan(now.x - before.x, now.y - before.y);
      pointers.set(event.pointerId, now);
    });
    const end = (event) => {
      pointers.delete(event.pointerId);
      this.svg.classList.remove("moving");
    };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointercancel", end);
    this.svg.addEventListener(
      "click",
      (event) => event.target === this.svg && !this.moved && this.select(""),
    );
    this.svg.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey && !this.box.classList.contains("whole")) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * 0.0022), spot(event));
      },
      { passive: false },
    );
  }

  key(event) {
    const moves = { ArrowLeft: [50, 0], ArrowRight: [-50, 0], ArrowUp: [0, 50], ArrowDown: [0, -50] };
    const onNode = event.target.dataset?.name;
    if (onNode && (event.key === "Enter" || event.key === " "))
      event.key === "Enter" ? this.select(onNode) : this.around(onNode);
    else if (onNode && (event.key === "n" || event.key === "p"))
      this.step(event.target, event.key === "n" ? 1 : -1);
    else if (event.key in moves) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.2);
    else if (event.key === "-") this.zoom(1 / 1.2);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape" && this.box.classList.contains("whole")) this.whole();
    else if (event.key === "Escape") this.select("");
    else return;
    event.preventDefault();
  }

  /** Moves the focus to another function. */
  step(element, by) {
    const all = this.nodeElements;
    const next = all[(all.indexOf(element) + by + all.length) % all.length];
    element.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}

/** The rows of a run by module, for points about calls. */
function modulesOf(run) {
  const found = new Map();
  for (let row = 0; row < run.size; row++) {
    const name = run.moduleOf(row);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(row);
  }
  return [...found];
}

/** A smooth path through points, horizontal at every point. */
function curved(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let at = 1; at < points.length; at++) {
    const [[x, y], [toX, toY]] = [points[at - 1], points[at]];
    const bend = (toX - x) / 2;
    path +=
      Math.abs(toY - y) < 0.5 ? `L${toX} ${toY}` : `C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`;
  }
  return path;
}

/** The path of a function that calls itself. */
function loop({ x, y }) {
  const right = x + NODE.width;
  return `M${right} ${y + 6}c34 26 34 -38 0 -12`;
}
