// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Squarified treemaps. Source: Bruls, Huizing, van Wijk, "Squarified treemaps", 2000.

/**
 * Rectangles `{x, y, width, height, at}` for positive `sizes`, largest first; `at` is the index of the size.
 * They fill `width` × `height`.
 */
function squarify(sizes, width, height) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!total || width <= 0 || height <= 0) return [];
  const scale = (width * height) / total;
  const areas = sizes
    .map((size, at) => ({ area: size * scale, at }))
    .sort((a, b) => b.area - a.area || a.at - b.at);
  const placed = [];
  let box = { x: 0, y: 0, width, height };
  let row = [];
  let sum = 0;
  for (const each of areas) {
    const side = Math.min(box.width, box.height);
    if (row.length && worst(row, sum, side) < worst([...row.slice(0, 1), each], sum + each.area, side)) {
      box = putRow(row, sum, box, placed);
      [row, sum] = [[], 0];
    }
    row.push(each);
    sum += each.area;
  }
  putRow(row, sum, box, placed);
  return placed;
}

/** The worst aspect ratio in a row that is sorted: its first and its last area decide. */
function worst(row, sum, side) {
  const [largest, smallest] = [row[0].area, row[row.length - 1].area];
  const square = side * side;
  const whole = sum * sum;
  return Math.max((square * largest) / whole, whole / (square * smallest));
}

/** Puts a row along the shorter side of the box; returns the rest of the box. */
function putRow(row, sum, box, placed) {
  const across = box.width >= box.height;
  const depth = sum / (across ? box.height : box.width) || 0;
  let at = across ? box.y : box.x;
  for (const each of row) {
    const length = each.area / depth || 0;
    placed.push(
      across
        ? { x: box.x, y: at, width: depth, height: length, at: each.at }
        : { x: at, y: box.y, width: length, height: depth, at: each.at },
    );
    at += length;
  }
  return across
    ? { x: box.x + depth, y: box.y, width: box.width - depth, height: box.height }
    : { x: box.x, y: box.y + depth, width: box.width, height: box.height - depth };
}
