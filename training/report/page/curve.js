// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The progress of searches: the best size against compilations or seconds.

const HUES = [
  "var(--accent)",
  "var(--good)",
  "var(--bad)",
  "light-dark(#8a3fa8, #d59cf0)",
  "light-dark(#1273a8, #6cc3f2)",
  "var(--warn)",
];

/** The section about the searches of the data; a search has a `curve` of [compilations, seconds, bytes]. */
function SearchSection({ data }) {
  const [axis, setAxis] = useState(0);
  const searches = data.tunes
    .filter(({ curve }) => curve.length)
    .map((search, at) => ({ ...search, start: search.curve[0][2], hue: HUES[at % HUES.length] }));
  if (!searches.length) return null;
  const found = `The best size found so far${searches.length > 1 ? ", as the change from the start" : ""}.`;
  const text = [found, ...searches.map(allSizes)].filter(Boolean).join(" ");
  const axes = [
    [0, "Compilations"],
    [1, "Seconds"],
  ];
  return html`
    <${Section} id="search" title="The search" text=${text}
      controls=${html`<${Choice} label="Horizontal axis" options=${axes} value=${axis} onPick=${setAxis} />`}>
      <${Curves} searches=${searches} axis=${axis} />
    <//>
  `;
}

/** The changes of what is loaded, of machine code, of the stripped file and of that by xz; what brought them. */
function allSizes({ name, sizes, brought }) {
  const words = Object.entries(sizes ?? {}).map(([size, [before, after]]) => `${size} ${change(after / before)}`);
  const gains = Object.entries(brought ?? {}).map(([what, gain]) => `${what} ${count(gain)}`);
  const all = [...words, ...(gains.length ? [`smaller by ${gains.join(", by ")}`] : [])];
  return all.length ? `${name}: ${all.join(", ")}.` : "";
}

const bestSize = (search, step) => `${count(step[2])} bytes (${change(step[2] / search.start)})`;
const spent = (step, and = ", ") => `${things(step[0], "compilation")}${and}${seconds(step[1])}`;

/** `axis` is 0 for compilations, 1 for seconds. */
function Curves({ searches, axis }) {
  const [box, width] = useWidth();
  const [pointer, setPointer] = useState(null);
  const several = searches.length > 1;
  const chart = width && curveChart(searches, axis, width);
  const point = (event) => {
    const at = event.clientX - box.current.getBoundingClientRect().left;
    const reached = searches
      .map((search) => ({ search, step: search.curve.findLast((step) => chart.x(step[axis]) <= at) }))
      .filter(({ step }) => step);
    if (!reached.length) return;
    setPointer({ at, reached });
    const name = (search) => (several ? `${search.name}: ` : "");
    const words = ({ search, step }) => `${name(search)}${bestSize(search, step)}\nafter ${spent(step)}`;
    tip.show(reached.map(words).join("\n"), event);
  };
  const leave = () => {
    setPointer(null);
    tip.hide();
  };
  const summary = searches.map((search) => {
    const last = search.curve.at(-1);
    const sizes = `from ${count(search.start)} to ${bestSize(search, last)}`;
    return `${search.name}: ${sizes} in ${spent(last, " and ")}`;
  });
  return html`
    <div class="card pad stack">
      <div ref=${box}>
        ${
          chart &&
          html`
          <svg class="plot" width=${width} height=${chart.height} role="img" tabindex="0"
            aria-label=${summary.join("; ")} onPointerMove=${point} onPointerLeave=${leave}>
            <${CurveAxes} ...${chart} several=${several} noun=${axis ? "seconds" : "compilations"} />
            ${searches.map((search) => html`<${CurveLine} ...${{ search, chart }} filled=${!several} />`)}
            ${pointer && html`<path class="zero" d="M${pointer.at} ${chart.top}V${chart.bottom}" />`}
            ${pointer?.reached.map(
              ({ search, step }) =>
                html`<circle ...${chart.place(search, step)} r="4.5" fill=${search.hue} />`,
            )}
          </svg>
        `
        }
      </div>
      ${
        several &&
        html`
        <div class="legend">
          ${searches.map(
            ({ name, hue }) => html`<span><i class="thin" style=${{ "--hue": hue }} />${name}</span>`,
          )}
        </div>
      `
      }
      <p class="note">The vertical axis does not begin at 0.</p>
    </div>
  `;
}

/** The scales of a chart, and `place(search, step)`; of several searches it shows shares of their starts. */
function curveChart(searches, axis, width) {
  const height = Math.max(220, Math.min(340, width * 0.42));
  const [left, right, top, bottom] = [64, width - 18, 14, height - 40];
  const level = (search, step) => (searches.length > 1 ? step[2] / search.start : step[2]);
  const levels = searches.flatMap((search) => search.curve.map((step) => level(search, step)));
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const margin = low === high ? low * 0.01 : (high - low) * 0.08;
  const end = Math.max(...searches.flatMap(({ curve }) => curve.map((step) => step[axis]))) || 1;
  const x = vendor.scaleLinear([0, end], [left, right]);
  const y = vendor.scaleLinear([low - margin, high + margin], [bottom, top]);
  const place = (search, step) => ({ cx: x(step[axis]), cy: y(level(search, step)) });
  return { x, y, left, right, top, bottom, height, width, place };
}

function CurveAxes({ x, y, left, right, bottom, height, width, several, noun }) {
  const below = x.ticks(Math.max(3, Math.floor(width / 110)));
  return html`
    ${y.ticks(5).map(
      (value) => html`
        <path class="axis" d="M${left} ${y(value)}H${right}" />
        <text x=${left - 9} y=${y(value) + 4} text-anchor="end">
          ${several ? change(value) : count(value)}
        </text>
      `,
    )}
    ${below.map(
      (value) => html`<text x=${x(value)} y=${bottom + 20} text-anchor="middle">${figure(value)}</text>`,
    )}
    <text x=${(left + right) / 2} y=${height - 4} text-anchor="middle">${noun}</text>
  `;
}

function CurveLine({ search, chart, filled }) {
  const places = search.curve.map((step) => chart.place(search, step));
  const steps = [...places, { cx: chart.right, cy: places.at(-1).cy }];
  const [x, y] = [({ cx }) => cx, ({ cy }) => cy];
  const floor = Math.max(...places.map(y)) + 22;
  const path = vendor.line(x, y).curve(vendor.curveStepAfter)(steps);
  const area = filled && vendor.area(x, floor, y).curve(vendor.curveStepAfter)(steps);
  return html`
    ${area && html`<path d=${area} fill=${search.hue} opacity="0.09" />`}
    <path d=${path} fill="none" stroke=${search.hue} stroke-width="2" stroke-linejoin="round" />
    ${places.length < 90 && places.map((place) => html`<circle ...${place} r="2.6" fill=${search.hue} />`)}
  `;
}
