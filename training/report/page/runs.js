// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decisions of a run, and two runs side by side.

/** One run: the decisions of one or more logs of the same decision point. */
class Run {
  constructor(raw, strings, shown) {
    Object.assign(this, {
      name: raw.name,
      point: raw.point,
      site: raw.site,
      whose: raw.whose,
      idle: raw.idle,
      done: raw.done,
    });
    Object.assign(this, { total: raw.total, notes: raw.notes ?? [], tallies: raw.tallies ?? [] });
    this.size = raw.size;
    this.columns = raw.columns.map((each) => columnOf(each, strings, shown));
    this.byKey = new Map(this.columns.map((each) => [each.key, each]));
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
function columnOf(raw, strings, shown) {
  const values = Array.isArray(raw.values) ? raw.values : new Array(raw.size).fill(raw.values);
  const isNumber = raw.kind === "number";
  return {
    key: raw.key,
    label: raw.label ?? raw.key,
    doc: raw.doc ?? "",
    isNumber,
    isFeature: raw.feature === true,
    isWord: raw.kind === "word",
    raw: values,
    value: isNumber ? (row) => values[row] : (row) => shown(strings[values[row]]),
    text: isNumber ? (row) => figure(values[row]) : (row) => shown(strings[values[row]]),
    plain: isNumber ? (row) => String(values[row]) : (row) => strings[values[row]],
  };
}

/** The decisions at the same places in two runs: `{common, onlyFirst, onlySecond, different: [[a, b]]}`. */
function joinRuns(first, second) {
  const places = (run) => {
    const seen = new Map();
    const found = new Map();
    for (let row = 0; row < run.size; row++) {
      const place = run.placeOf(row);
      const number = seen.get(place) ?? 0;
      seen.set(place, number + 1);
      found.set(`${place}\u0000${number}`, row);
    }
    return found;
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

/** The call graph of the rows: functions with the calls they make and receive, and edges between them. */
function callGraph(run, rows) {
  const nodes = new Map();
  const edges = new Map();
  const [callers, callees] = [run.byKey.get("caller"), run.byKey.get("callee")];
  const node = (name) => {
    if (!nodes.has(name)) nodes.set(name, { name, made: 0, received: 0, inlined: 0, unlike: 0 });
    return nodes.get(name);
  };
  for (const row of rows) {
    const [from, to] = [callers.plain(row), callees.plain(row)];
    if (!from || !to) continue;
    const key = `${from}\u0000${to}`;
    if (!edges.has(key)) edges.set(key, { from, to, inlined: 0, refused: 0, unlike: 0 });
    const edge = edges.get(key);
    const done = run.isDone(row);
    done ? edge.inlined++ : edge.refused++;
    node(from).made++;
    node(to).received++;
    if (done) node(to).inlined++;
    if (run.isUnlike(row)) {
      edge.unlike++;
      node(from).unlike++;
      node(to).unlike++;
    }
  }
  return { nodes, edges: [...edges.values()] };
}

const MOST_EDGES = 90;

/** The edges of a kind: all, inlined, refused, unlike the default. */
const EDGES = {
  all: () => true,
  inlined: (edge) => edge.inlined > 0,
  refused: (edge) => edge.refused > 0,
  unlike: (edge) => edge.unlike > 0,
};

/**
 * At most `most` functions of a graph and the edges of a kind between them: those up to `depth` calls away
 * from `focus`, or those with most such calls.
 */
function neighbourhood(whole, focus, depth, most, kind = "all") {
  const graph = { nodes: whole.nodes, edges: whole.edges.filter(EDGES[kind]) };
  const weights = new Map();
  for (const { from, to, inlined, refused, unlike } of graph.edges)
    for (const name of [from, to])
      weights.set(name, (weights.get(name) ?? 0) + inlined + refused / 4 + 3 * unlike);
  const weight = (name) => weights.get(name) ?? 0;
  const byWeight = (a, b) => weight(b) - weight(a) || (a < b ? -1 : 1);
  let chosen;
  if (focus && graph.nodes.has(focus)) {
    const near = new Map();
    for (const { from, to } of graph.edges) {
      near.set(from, (near.get(from) ?? new Set()).add(to));
      near.set(to, (near.get(to) ?? new Set()).add(from));
    }
    chosen = new Set([focus]);
    let ring = [focus];
    for (let step = 0; step < depth && chosen.size < most; step++) {
      ring = [...new Set(ring.flatMap((name) => [...(near.get(name) ?? [])]))]
        .filter((name) => !chosen.has(name))
        .sort(byWeight);
      ring = ring.slice(0, most - chosen.size);
      ring.forEach((name) => chosen.add(name));
    }
  } else chosen = new Set([...weights.keys()].sort(byWeight).slice(0, most));
  const names = [...chosen];
  const between = graph.edges.filter(({ from, to }) => chosen.has(from) && chosen.has(to));
  const rank = ({ inlined, refused, unlike }) => inlined + refused / 4 + 3 * unlike;
  const isOwn = ({ from, to }) => from === focus || to === focus;
  const edges = [...between].sort((a, b) => isOwn(b) - isOwn(a) || rank(b) - rank(a)).slice(0, MOST_EDGES);
  const joined = new Set(edges.flatMap(({ from, to }) => [from, to]));
  return {
    names: names.filter((name) => joined.has(name) || name === focus),
    edges,
    left: between.length - edges.length,
  };
}
