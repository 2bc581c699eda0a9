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

/** `searches`: [{name, curve: [[compilations, seconds, bytes], ...]}]. */
class Curves {
  constructor(searches) {
    this.searches = searches.map((each, at) => ({
      ...each,
      hue: HUES[at % HUES.length],
      start: each.curve[0][2],
    }));
    this.axis = 0;
    this.box = h("div");
    this.controls = choice(
      "Horizontal axis",
      [
        [0, "Compilations"],
        [1, "Seconds"],
      ],
      0,
      (axis) => {
        this.axis = axis;
        this.draw(this.box.clientWidth);
      },
    );
    const legend =
      searches.length > 1 &&
      h(
        "div",
        { class: "legend" },
        this.searches.map((each) => h("span", {}, h("i", { class: "thin", "--hue": each.hue }), each.name)),
      );
    this.element = h(
      "div",
      { class: "card pad stack" },
      this.box,
      legend,
      h("p", { class: "note" }, "The vertical axis does not begin at 0."),
    );
    onWidth(this.box, (width) => this.draw(width));
  }

  /** The height of a point: bytes if there is one search, else the share of its start. */
  level(search, bytes) {
    return this.searches.length > 1 ? bytes / search.start : bytes;
  }

  words(search, bytes) {
    return `${count(bytes)} bytes (${change(bytes / search.start)})`;
  }

  draw(width) {
    const height = Math.max(220, Math.min(340, width * 0.42));
    const pad = { left: 64, right: 18, top: 14, bottom: 40 };
    const points = this.searches.flatMap((search) =>
      search.curve.map((each) => [each[this.axis], this.level(search, each[2])]),
    );
    const right = Math.max(...points.map((each) => each[0])) || 1;
    let [low, high] = [
      Math.min(...points.map((each) => each[1])),
      Math.max(...points.map((each) => each[1])),
    ];
    if (low === high) [low, high] = [low * 0.99, high * 1.01];
    const margin = (high - low) * 0.08;
    [low, high] = [low - margin, high + margin];
    const x = (value) => pad.left + (value / right) * (width - pad.left - pad.right);
    const y = (value) => pad.top + ((high - value) / (high - low)) * (height - pad.top - pad.bottom);
    const label = (value) => (this.searches.length > 1 ? change(value) : count(value));
    const grid = ticks(low, high, 5).map((value) => [
      s("line", { class: "axis", x1: pad.left, x2: width - pad.right, y1: y(value), y2: y(value) }),
      s("text", { x: pad.left - 9, y: y(value) + 4, "text-anchor": "end" }, label(value)),
    ]);
    const below = ticks(0, right, Math.max(3, Math.floor(width / 110))).map((value) =>
      s("text", { x: x(value), y: height - pad.bottom + 20, "text-anchor": "middle" }, figure(value)),
    );
    const title = s(
      "text",
      { x: (pad.left + width - pad.right) / 2, y: height - 4, "text-anchor": "middle" },
      this.axis ? "seconds" : "compilations",
    );
    const lines = this.searches.map((search) => this.line(search, x, y, right));
    const mark = s("g", { hidden: true });
    const svg = s(
      "svg",
      {
        class: "plot",
        width,
        height,
        role: "img",
        tabindex: "0",
        "aria-label": this.summary(),
        onpointermove: (event) => this.point(event, mark, x, y, pad.top, height - pad.bottom),
        onpointerleave: () => (tip.hide(), mark.replaceChildren()),
      },
      grid,
      below,
      title,
      lines,
      mark,
    );
    this.box.replaceChildren(svg);
  }

  line(search, x, y, right) {
    const steps = search.curve.map((each) => [x(each[this.axis]), y(this.level(search, each[2]))]);
    let path = `M${steps[0][0]} ${steps[0][1]}`;
    for (const [at, level] of steps.slice(1)) path += `H${at}V${level}`;
    path += `H${x(right)}`;
    const area =
      this.searches.length === 1 &&
      s("path", {
        d: `${path}V${Math.max(...steps.map((each) => each[1])) + 22}H${steps[0][0]}Z`,
        fill: search.hue,
        opacity: 0.09,
      });
    const dots =
      steps.length < 90 &&
      steps.map(([at, level]) => s("circle", { cx: at, cy: level, r: 2.6, fill: search.hue }));
    return [
      area,
      s("path", { d: path, fill: "none", stroke: search.hue, "stroke-width": 2, "stroke-linejoin": "round" }),
      dots,
    ].filter(Boolean);
  }

  point(event, mark, x, y, top, bottom) {
    const box = event.currentTarget.getBoundingClientRect();
    const at = event.clientX - box.left;
    const reached = this.searches
      .map((search) => ({ search, step: search.curve.findLast((each) => x(each[this.axis]) <= at) }))
      .filter(({ step }) => step);
    if (!reached.length) return;
    mark.removeAttribute("hidden");
    mark.replaceChildren(
      s("line", { class: "zero", x1: at, x2: at, y1: top, y2: bottom }),
      ...reached.map(({ search, step }) =>
        s("circle", { cx: x(step[this.axis]), cy: y(this.level(search, step[2])), r: 4.5, fill: search.hue }),
      ),
    );
    tip.show(reached.map(({ search, step }) => this.told(search, step)).join("\n"), event);
  }

  told(search, step) {
    const name = this.searches.length > 1 ? `${search.name}: ` : "";
    const spent = `${things(step[0], "compilation")}, ${seconds(step[1])}`;
    return `${name}${this.words(search, step[2])}\nafter ${spent}`;
  }

  summary() {
    return this.searches
      .map((search) => {
        const last = search.curve[search.curve.length - 1];
        const spent = `${things(last[0], "compilation")} and ${seconds(last[1])}`;
        return `${search.name}: from ${count(search.start)} to ${this.words(search, last[2])} in ${spent}`;
      })
      .join("; ");
  }
}
