// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lays out a directed graph in layers from left to right: callers before callees where there is no cycle.
// Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981.

const NODE = { width: 176, height: 34, gapX: 76, gapY: 11 };

/**
 * `edges` are pairs of node numbers below `total`. Returns `{places: [{x, y}], routes: [[x, y] ...], width,
 * height}`: the left middle of every node, and the points through which every edge passes.
 */
function layOut(total, edges) {
  const forward = edges.filter(([from, to]) => from !== to);
  const turned = backEdges(total, forward);
  const straight = forward.map((each, at) => (turned.has(at) ? [each[1], each[0]] : each));
  const layerOf = longestPaths(total, straight);
  const graph = withDummies(total, straight, layerOf);
  orderLayers(graph);
  const y = placeRows(graph);
  const x = graph.layer.map((layer) => layer * (NODE.width + NODE.gapX));
  const chains = new Map(
    forward.map((each, at) => [each, turned.has(at) ? [...graph.chains[at]].reverse() : graph.chains[at]]),
  );
  const routes = edges.map((each) => (each[0] === each[1] ? [] : route(chains.get(each), x, y, total)));
  const places = Array.from({ length: total }, (_, node) => ({ x: x[node], y: y[node] }));
  const width = Math.max(0, ...x) + NODE.width;
  return { places, routes, width, height: Math.max(0, ...y) + NODE.height };
}

/** The numbers of the edges that close a cycle, found by a search in depth. */
function backEdges(total, edges) {
  const out = Array.from({ length: total }, () => []);
  const incoming = new Int32Array(total);
  edges.forEach(([from, to], at) => {
    out[from].push([to, at]);
    incoming[to]++;
  });
  const state = new Uint8Array(total);
  const found = new Set();
  const roots = Array.from({ length: total }, (_, node) => node).sort(
    (a, b) => incoming[a] - incoming[b] || a - b,
  );
  for (const root of roots) {
    const stack = state[root] ? [] : [[root, 0]];
    if (stack.length) state[root] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      if (top[1] === out[top[0]].length) {
        state[top[0]] = 2;
        stack.pop();
        continue;
      }
      const [to, at] = out[top[0]][top[1]++];
      if (state[to] === 1) found.add(at);
      else if (!state[to]) {
        state[to] = 1;
        stack.push([to, 0]);
      }
    }
  }
  return found;
}

/** The layer of every node: one more than its highest caller's; then nodes move close to their callees. */
function longestPaths(total, edges) {
  const layer = new Int32Array(total);
  const out = Array.from({ length: total }, () => []);
  const left = new Int32Array(total);
  for (const [from, to] of edges) {
    out[from].push(to);
    left[to]++;
  }
  const order = [];
  for (let node = 0; node < total; node++) if (!left[node]) order.push(node);
  for (let at = 0; at < order.length; at++)
    for (const to of out[order[at]]) {
      layer[to] = Math.max(layer[to], layer[order[at]] + 1);
      if (!--left[to]) order.push(to);
    }
  const called = new Uint8Array(total);
  for (const [, to] of edges) called[to] = 1;
  for (const node of order.reverse())
    if (out[node].length && !called[node]) layer[node] = Math.min(...out[node].map((to) => layer[to])) - 1;
  return layer;
}

/** Adds nodes where edges cross layers; `chains` are the nodes along every edge. */
function withDummies(total, edges, layerOf) {
  const layer = Array.from(layerOf);
  const before = [];
  const after = [];
  const join = (a, b) => {
    (after[a] ??= []).push(b);
    (before[b] ??= []).push(a);
  };
  const chains = edges.map(([from, to]) => {
    const chain = [from];
    for (let at = layer[from] + 1; at < layer[to]; at++) {
      layer.push(at);
      chain.push(layer.length - 1);
    }
    chain.push(to);
    for (let at = 1; at < chain.length; at++) join(chain[at - 1], chain[at]);
    return chain;
  });
  const rows = [];
  layer.forEach((at, node) => (rows[at] ??= []).push(node));
  return { total, layer, before, after, chains, rows: Array.from(rows, (row) => row ?? []) };
}

/** Orders every layer by the mean place of the neighbours, forth and back. */
function orderLayers({ rows, before, after, layer }) {
  const place = new Float64Array(layer.length);
  const number = (row) => row.forEach((node, at) => (place[node] = at));
  rows.forEach(number);
  for (let sweep = 0; sweep < 12; sweep++) {
    const down = sweep % 2 === 0;
    const near = down ? before : after;
    for (const row of down ? rows : [...rows].reverse()) {
      const mean = new Map(row.map((node) => [node, meanOf(near[node], place) ?? place[node]]));
      row.sort((a, b) => mean.get(a) - mean.get(b) || place[a] - place[b]);
      number(row);
    }
  }
}

function meanOf(nodes, value) {
  return nodes?.length ? nodes.reduce((sum, node) => sum + value[node], 0) / nodes.length : null;
}

/** The height of every node: near the mean of its neighbours, in the order of the layer, without overlaps. */
function placeRows({ rows, before, after, layer, total }) {
  const y = new Float64Array(layer.length);
  const room = (node) => (node < total ? NODE.height + NODE.gapY : NODE.gapY * 0.9);
  const spread = (row, wanted) => pushApart(row, wanted, room, y);
  for (const row of rows)
    spread(
      row,
      row.map(() => 0),
    );
  for (let sweep = 0; sweep < 8; sweep++) {
    const near = sweep % 2 === 0 ? before : after;
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse())
      spread(
        row,
        row.map(
          (node) => meanOf(near[node], y) ?? meanOf((near === before ? after : before)[node], y) ?? y[node],
        ),
      );
  }
  const lowest = y.length ? Math.min(...y) : 0;
  return y.map((each) => each - lowest);
}

/** Moves the nodes of a row as little as possible, in squares, until they have room (isotonic regression). */
function pushApart(row, wanted, room, y) {
  const offsets = [];
  let offset = 0;
  row.forEach((node, at) => {
    if (at) offset += (room(row[at - 1]) + room(node)) / 2;
    offsets.push(offset);
  });
  const blocks = [];
  wanted.forEach((want, at) => {
    let block = { sum: want - offsets[at], size: 1 };
    while (
      blocks.length &&
      blocks[blocks.length - 1].sum / blocks[blocks.length - 1].size > block.sum / block.size
    ) {
      const last = blocks.pop();
      block = { sum: last.sum + block.sum, size: last.size + block.size };
    }
    blocks.push(block);
  });
  let at = 0;
  for (const block of blocks)
    for (let end = at + block.size; at < end; at++) y[row[at]] = block.sum / block.size + offsets[at];
}

/** The points of an edge: it leaves its first node on the right and enters its last on the left. */
function route(chain, x, y, total) {
  const backward = x[chain[0]] > x[chain[chain.length - 1]];
  return chain.flatMap((node, at) => {
    if (node >= total)
      return backward
        ? [
            [x[node] + NODE.width, y[node]],
            [x[node], y[node]],
          ]
        : [
            [x[node], y[node]],
            [x[node] + NODE.width, y[node]],
          ];
    const right = at === 0 ? !backward : backward;
    return [[x[node] + (right ? NODE.width : 0), y[node]]];
  });
}
