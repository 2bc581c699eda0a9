// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decisions of a run, and two runs side by side.

/** One run: the decisions of one or more logs of the same decision point. */
class Run {
  constructor(raw, strings, shown) {
    Object.assign(this, raw);
    this.columns = raw.columns.map((column) => columnOf(column, raw.size, strings, shown));
    this.byKey = new Map(this.columns.map((column) => [column.key, column]));
    this.advice = this.byKey.get("advice");
    this.default = this.byKey.get("default");
  }

  /** Whether the decision differs from the default one; false if the log has no default. */
  isUnlike(row) {
    return this.default !== undefined && this.advice.raw[row] !== this.default.raw[row];
  }

  /** Whether something was done: inlined, evicted. */
  isDone(row) {
    return this.idle !== "" && this.advice.text(row) !== this.idle;
  }

  /** What the decision changed, in words. */
  effect(row) {
    if (!this.default) return "";
    if (!this.isUnlike(row)) return `as ${this.whose}`;
    if (!this.idle) return `${this.whose}: ${this.default.text(row)}`;
    if (this.isDone(row) && this.default.text(row) === this.idle) return `${this.done} anyway`;
    return this.isDone(row) ? "another one" : `not ${this.done}`;
  }

  /** The name of the module of a row: the log, and where it has several contexts, the context. */
  moduleOf(row) {
    const parts = ["log", ...(this.site === "call" ? ["context"] : [])].map((key) =>
      this.byKey.get(key)?.text(row),
    );
    return parts.filter(Boolean).join(" · ");
  }

  /** What two runs must share for decisions to belong together. */
  placeOf(row) {
    return ["context", "caller", "callee", "location", "register", "number"]
      .map((key) => this.byKey.get(key)?.plain(row) ?? "")
      .join("\u0000");
  }
}

/** A column with `value(row)` to sort by, `text(row)` to show and `plain(row)`, the undecorated text. */
function columnOf(raw, size, strings, shown) {
  const values = Array.isArray(raw.values) ? raw.values : new Array(size).fill(raw.values);
  const isNumber = raw.kind === "number";
  const word = (row) => shown(strings[values[row]]);
  return {
    key: raw.key,
    label: raw.key,
    kind: raw.kind,
    doc: raw.doc ?? "",
    isFeature: raw.feature === true,
    raw: values,
    value: isNumber ? (row) => values[row] : word,
    text: isNumber ? (row) => figure(values[row]) : word,
    plain: isNumber ? (row) => String(values[row]) : (row) => strings[values[row]],
  };
}

/** The decisions at the same places in two runs: `{common, onlyFirst, onlySecond, different: [[a, b]]}`. */
function joinRuns(first, second) {
  const places = (run) => {
    const times = new Map();
    const rows = new Map();
    for (let row = 0; row < run.size; row++) {
      const place = run.placeOf(row);
      const number = times.get(place) ?? 0;
      times.set(place, number + 1);
      rows.set(`${place}\u0000${number}`, row);
    }
    return rows;
  };
  const [left, right] = [places(first), places(second)];
  const different = [];
  let common = 0;
  for (const [place, row] of left) {
    const other = right.get(place);
    if (other === undefined) continue;
    common++;
    if (first.advice.text(row) !== second.advice.text(other)) different.push([row, other]);
  }
  return { common, onlyFirst: left.size - common, onlySecond: right.size - common, different };
}

/** The rows of a run by module: [{run, name, rows}]. */
function modulesOf(run) {
  const modules = new Map();
  for (let row = 0; row < run.size; row++) {
    const name = run.moduleOf(row);
    if (!modules.has(name)) modules.set(name, { run, name, rows: [] });
    modules.get(name).rows.push(row);
  }
  return [...modules.values()];
}

/** The call graph of the rows: functions with the calls they make and receive, and edges between them. */
function callGraph(run, rows) {
  const nodes = new Map();
  const edges = new Map();
  const [callers, callees] = [run.byKey.get("caller"), run.byKey.get("callee")];
  const entry = (map, key, first) => map.get(key) ?? map.set(key, first).get(key);
  const node = (name) => entry(nodes, name, { name, made: 0, received: 0, inlined: 0, unlike: 0 });
  for (const row of rows) {
    const [from, to] = [callers.plain(row), callees.plain(row)];
    if (!from || !to) continue;
    const edge = entry(edges, `${from}\u0000${to}`, { from, to, inlined: 0, refused: 0, unlike: 0 });
    const [done, unlike] = [run.isDone(row), run.isUnlike(row)];
    edge[done ? "inlined" : "refused"]++;
    edge.unlike += unlike;
    node(from).made++;
    node(to).received++;
    node(to).inlined += done;
    node(from).unlike += unlike;
    node(to).unlike += unlike;
  }
  return { nodes, edges: [...edges.values()] };
}

const MOST_EDGES = 90;

const edgeWeight = ({ inlined, refused, unlike }) => inlined + refused / 4 + 3 * unlike;

/**
 * At most `most` functions of a graph and the edges of a kind between them: those up to `depth` calls away
 * from `focus`, or those with most such calls. `kind` is inlined, refused, unlike (the default), or all.
 */
function neighbourhood(graph, focus, depth, most, kind = "all") {
  const edges = graph.edges.filter((edge) => kind === "all" || edge[kind] > 0);
  const weights = new Map();
  for (const edge of edges)
    for (const name of [edge.from, edge.to]) weights.set(name, (weights.get(name) ?? 0) + edgeWeight(edge));
  const byWeight = (a, b) => weights.get(b) - weights.get(a) || (a < b ? -1 : 1);
  let names = graph.nodes.has(focus) ? [focus] : [...weights.keys()].sort(byWeight).slice(0, most);
  for (let step = 0; graph.nodes.has(focus) && step < depth; step++) {
    const inner = new Set(names);
    const crossing = edges.filter(({ from, to }) => inner.has(from) !== inner.has(to));
    const around = new Set(crossing.map(({ from, to }) => (inner.has(from) ? to : from)));
    names = [...names, ...[...around].sort(byWeight).slice(0, most - names.length)];
  }
  const chosen = new Set(names);
  const between = edges.filter(({ from, to }) => chosen.has(from) && chosen.has(to));
  const isOwn = ({ from, to }) => from === focus || to === focus;
  const kept = between
    .sort((a, b) => isOwn(b) - isOwn(a) || edgeWeight(b) - edgeWeight(a))
    .slice(0, MOST_EDGES);
  const joined = new Set([focus, ...kept.flatMap(({ from, to }) => [from, to])]);
  return { names: names.filter((name) => joined.has(name)), edges: kept, left: between.length - kept.length };
}
