// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An evaluation: every contender against a baseline, in all and by program.

/** Metrics that a result has under their own names. */
function sizes(words) {
  const metric = ([key, [label, noun]]) => [key, { label, noun, text: count, of: (result) => result[key] }];
  return Object.fromEntries(Object.entries(words).map(metric));
}

/** What is measured: `of(result)` is the value of a result, `text(value)` its words. */
const METRICS = {
  ...sizes({
    allocated: ["Loaded bytes", "bytes of the linked program that are loaded"],
    text: ["Machine code", "bytes of machine code of the linked program"],
    stripped: ["Stripped file", "bytes of the program's file without symbols"],
    xz: ["Compressed file", "bytes of the stripped file, compressed by xz"],
    objects: ["Object files", "bytes that are loaded, summed over the object files"],
  }),
  compile: {
    label: "Compile time",
    noun: "processor time to compile all units",
    text: seconds,
    of: (result) => result.compile_seconds,
  },
  run: {
    label: "Run time",
    noun: "time of the program's own runs",
    text: seconds,
    of: (result) => result.run?.seconds,
  },
  ...sizes({ instructions: ["Instructions", "instructions that the program's own runs execute"] }),
};

/** The figures of an evaluation, by metric and against a base, which is a contender's name. */
class Evaluation {
  constructor(raw) {
    this.raw = raw;
    this.programs = raw.programs;
    this.names = raw.contenders.map(({ name }) => name);
    this.policies = raw.contenders.filter(({ kind }) => kind === "policy").map(({ name }) => name);
    this.metrics = Object.keys(METRICS).filter((metric) =>
      this.programs.some((program) => this.names.some((name) => this.value(program, name, metric) !== null)),
    );
    this.base = raw.baselines.find((name) => this.names.includes(name)) ?? this.names[0];
  }

  value(program, name, metric) {
    const result = program.results[name];
    return (result && METRICS[metric].of(result)) ?? null;
  }

  ratio(program, name, metric, base) {
    const [value, against] = [this.value(program, name, metric), this.value(program, base, metric)];
    const run = metric === "run" && base === this.raw.baselines[0] ? program.results[name]?.run : null;
    return run?.ratio || (value !== null && against ? value / against : null);
  }

  /** The geometric mean over the programs that have both, with its interval if the file has it. */
  mean(name, metric, base) {
    const known = this.raw.summary?.[base]?.[metric]?.[name];
    if (known) return known;
    const ratios = this.programs
      .map((program) => this.ratio(program, name, metric, base))
      .filter((ratio) => ratio > 0);
    return ratios.length ? { ratio: geometricMean(ratios), programs: ratios.length } : null;
  }

  /** The contenders that have a mean: [{name, mean}]. */
  means(names, metric, base) {
    const means = names.map((name) => ({ name, mean: this.mean(name, metric, base) }));
    return means.filter(({ mean }) => mean);
  }

  /** The contenders but for the baseline, policies first. */
  others(base) {
    const baselines = this.names.filter((name) => !this.policies.includes(name));
    return [...this.policies, ...baselines].filter((name) => name !== base);
  }

  /** The tiles of the summary; `prefix` stands before their names. */
  tiles(prefix) {
    const metric = this.metrics.includes("allocated") ? "allocated" : "objects";
    const base = this.raw.baselines[0] ?? this.names[0];
    const names = this.policies.length ? this.policies : this.others(base);
    return this.means(names.slice(0, 4), metric, base).map(({ name, mean }) => {
      const range = mean.low ? `95 %: ${change(mean.low)} to ${change(mean.high)}, ` : "";
      return {
        what: `${prefix}${middle(name, 30)} against ${base}`,
        value: change(mean.ratio),
        more: `${METRICS[metric].label.toLowerCase()}, ${range}${things(mean.programs, "program")}`,
        tone: toneOf(mean),
      };
    });
  }
}

const geometricMean = (ratios) =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

/** Whether an interval holds 1. */
const isUnclear = (interval) => interval.low <= 1 && interval.high >= 1;

/** Good or bad, unless the interval of a mean holds 1. */
function toneOf(mean) {
  if (mean.low ? isUnclear(mean) : mean.ratio === 1) return "";
  return mean.ratio < 1 ? "good" : "bad";
}

/** Whether nothing is known of the change of a run time: its interval is missing, or holds 1. */
const isRunUnclear = (program, name) => {
  const run = program.results[name]?.run;
  return !run?.low || isUnclear(run);
};

function EvaluationSection({ id, title, prefix, evaluation }) {
  const [metric, setMetric] = useState(evaluation.metrics[0] ?? "allocated");
  const [base, setBase] = useState(evaluation.base);
  const { raw, programs, names } = evaluation;
  const measures = evaluation.metrics.map((metric) => [metric, METRICS[metric].label]);
  const bases = names.map((name) => [name, middle(name, 34)]);
  const means = evaluation.means(evaluation.others(base), metric, base);
  const mean = programs.length > 1 ? "Geometric mean over the programs of the" : "The";
  const lines = means.some(({ mean }) => mean.low)
    ? "; the lines are 95 % intervals by bootstrap over the programs"
    : "";
  const controls = html`
    <${Choice} label="Measure" options=${measures} value=${metric} onPick=${setMetric} />
    <${Menu} label="against" options=${bases} value=${base} onPick=${setBase} />
  `;
  const unfinished = raw.complete === false && "The evaluation is not finished";
  const facts = [unfinished, raw.corpus?.split("/").pop(), raw.compiler, raw.machine].filter(Boolean);
  return html`
    <${Section} id=${id} title=${title} text=${facts.join(" · ")} controls=${controls}>
      <div class="stack">
        <div class="card pad stack">
          <p class="note">${mean} ${METRICS[metric].noun}, against ${base}${lines}. Smaller is better.</p>
          <${Means} means=${means} />
        </div>
        <${Programs} key=${`${metric} ${base}`} ...${{ evaluation, metric, base, prefix }} />
        <${Problems} programs=${programs} />
        <${Regressions} ...${{ evaluation, metric, base }} />
      </div>
    <//>
  `;
}

/** A row for every contender: a dot for its mean, a line for the interval of the mean. */
function Means({ means }) {
  const [box, width] = useWidth();
  return html`<div ref=${box}>${width > 0 && html`<${MeansPlot} means=${means} width=${width} />`}</div>`;
}

function MeansPlot({ means, width }) {
  const [left, right] = [Math.min(250, width * 0.36), width - Math.min(190, width * 0.28)];
  const [top, bottom] = [6, 6 + means.length * 34];
  const ends = [1, ...means.flatMap(({ mean }) => [mean.ratio, mean.low, mean.high])].filter(Number.isFinite);
  const [low, high] = [Math.min(...ends), Math.max(...ends)].map((ratio) => (ratio - 1) * 100);
  const margin = (high - low || 2) * 0.06;
  const percent = vendor.scaleLinear([low - margin, high + margin], [left, right]);
  const x = (ratio) => percent((ratio - 1) * 100);
  const interval = ({ low, high }) => `  [${change(low)}, ${change(high)}]`;
  return html`
    <svg class="plot" width=${width} height=${bottom + 30} role="img"
      aria-label=${means.map(({ name, mean }) => `${name}: ${change(mean.ratio)}`).join("; ")}>
      ${percent.ticks(Math.max(3, Math.floor((right - left) / 110))).map(
        (value) => html`
          <path class=${value ? "axis" : "zero"} d="M${percent(value)} ${top}V${bottom}" />
          <text x=${percent(value)} y=${bottom + 18} text-anchor="middle">
            ${value ? `${value > 0 ? "+" : "−"}${Math.abs(value)} %` : "0"}
          </text>
        `,
      )}
      ${means.map(({ name, mean }, at) => {
        const hue = { good: "var(--good)", bad: "var(--bad)" }[toneOf(mean)] ?? "var(--soft)";
        const y = top + at * 34 + 17;
        const range = mean.low ? `\n95 %: ${change(mean.low, 2)} to ${change(mean.high, 2)}` : "";
        const words = `${name}\n${change(mean.ratio, 2)} over ${things(mean.programs, "program")}${range}`;
        return html`
          <g ...${tipped(() => words)}>
            <rect x="0" y=${y - 16} width=${width} height="32" fill="transparent" />
            <text class="ink" x="0" y=${y + 4}>${middle(name, Math.floor(left / 7))}</text>
            ${
              mean.low &&
              html`<path class="interval" d="M${x(mean.low)} ${y}H${x(mean.high)}" stroke=${hue} />`
            }
            <circle cx=${x(mean.ratio)} cy=${y} r="5.5" fill=${hue} />
            <text class="ink" x=${width} y=${y + 4} text-anchor="end">
              ${change(mean.ratio)}${mean.low && width > 620 ? interval(mean) : ""}
            </text>
          </g>
        `;
      })}
    </svg>
  `;
}

function Programs({ evaluation, metric, base, prefix }) {
  const { programs } = evaluation;
  const { label, text } = METRICS[metric];
  const total = { name: "geometric mean", isTotal: true };
  const words = (row) =>
    evaluation.value(row, base, metric) === null ? "–" : text(evaluation.value(row, base, metric));
  const contender = (name) => {
    const mean = evaluation.mean(name, metric, base)?.ratio ?? null;
    const ratio = (row) => (row.isTotal ? mean : evaluation.ratio(row, name, metric, base));
    return {
      label: middle(name, 26),
      doc: name,
      kind: "change",
      leads: evaluation.policies.includes(name),
      value: ratio,
      text: (row) => change(ratio(row)),
      tone: (row) => (metric === "run" && !row.isTotal && isRunUnclear(row, name) ? "soft" : ""),
      title: (row) =>
        row.isTotal ? null : resultInWords(row, name, metric, evaluation.value(row, name, metric)),
    };
  };
  const columns = [
    {
      label: "program",
      kind: "text",
      value: (row) => row.name,
      title: (row) => (row.isTotal ? null : `${row.name}: ${row.language}, ${things(row.units, "unit")}`),
    },
    {
      label: middle(base, 22),
      kind: "number",
      doc: `${label} of ${base}`,
      value: (row) => (row.isTotal ? null : evaluation.value(row, base, metric)),
      text: (row) => (row.isTotal ? "" : words(row)),
    },
    ...evaluation.others(base).map(contender),
  ];
  const options = {
    totals: programs.length > 1 ? [total] : [],
    caption: `${prefix}${label} by program`,
    label: "programs",
  };
  return html`<div class="card"><${Table} columns=${columns} rows=${programs} ...${options} /></div>`;
}

function resultInWords(program, name, metric, value) {
  if (value === null) return `${name}: not measured`;
  const { run, decisions, agreed } = program.results[name];
  const parts = [`${name}: ${METRICS[metric].text(value)}`];
  if (metric === "run" && run?.low)
    parts.push(`95 %: ${change(run.low)} to ${change(run.high)}, ${things(run.pairs, "pair")}`);
  if (decisions)
    parts.push(`${things(decisions, "decision")}, ${share(agreed, decisions)} as LLVM's default`);
  return parts.join("; ");
}

/** The lines about units that failed and programs with wrong outputs. */
function Problems({ programs }) {
  const lines = programs.flatMap((program) =>
    Object.entries(program.results).flatMap(([name, { errors = [] }]) =>
      errors.map((text) => `${program.name}, ${name}: ${text}`),
    ),
  );
  if (!lines.length) return null;
  return html`
    <div class="card pad">
      <h3 class="bad">${things(lines.length, "problem")}</h3>
      <ul class="plain-list">${lines.slice(0, 100).map((text) => html`<li>${text}</li>`)}</ul>
    </div>
  `;
}

/** The programs that the policies made larger. */
function Regressions({ evaluation, metric, base }) {
  const larger = evaluation.programs
    .flatMap((program) =>
      evaluation.policies
        .filter((name) => name !== base && !(metric === "run" && isRunUnclear(program, name)))
        .map((name) => ({
          program: program.name,
          name,
          ratio: evaluation.ratio(program, name, metric, base),
        })),
    )
    .filter(({ ratio }) => ratio > 1)
    .sort((a, b) => b.ratio - a.ratio);
  if (!larger.length) return null;
  return html`
    <div class="card pad">
      <h3>Worst regressions</h3>
      <ul class="call-list">
        ${larger.slice(0, 8).map(
          ({ program, name, ratio }) => html`
            <li>
              <span>${program} <span class="soft">${middle(name, 40)}</span></span>
              <span class="bad">${change(ratio)}</span>
            </li>
          `,
        )}
      </ul>
    </div>
  `;
}
