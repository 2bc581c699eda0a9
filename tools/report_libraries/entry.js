// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the page of `passpilot report` uses of its libraries: the names of `vendor` in its scripts.
import htm from "htm";
import { h } from "preact";

export { Graph, layout } from "@dagrejs/dagre";
export { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
export { scaleLinear } from "d3-scale";
export { select } from "d3-selection";
export { area, curveBumpX, curveStepAfter, line } from "d3-shape";
export { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
export { render } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export const html = htm.bind(h);
