// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What to switch on in a build: the levers that are taken as a waterfall, and all of them as a table.

const RUNG = 26;

/** The ladder of one program, as `passpilot tune --ladder` writes it. */
function LadderSection({ id, ladder }) {
  const { program, reward, start, end, rows, flags } = ladder;
  const ratio = (size) => (row) => (row.on_top?.[size] ? row.on_top[size] / row.below[size] : null);
  const columns = [
    textColumn("lever", (row) => row.lever, 30),
    textColumn("verdict", verdictOf, 48),
    { ...changeColumn("allocated", ratio("allocated")), leads: true },
    ...["text", "stripped", "xz"].map((size) => changeColumn(size, ratio(size))),
    rows.some(({ on_top }) => on_top?.instructions) && changeColumn("instructions", ratio("instructions")),
    numberColumn("build time", ratio("seconds"), (value) => value.toFixed(2)),
    changeColumn("alone", (row) => (row.alone ? row.alone[reward] / start[reward] : null)),
  ].filter(Boolean);
  const sizes = `${count(start[reward])} → ${count(end[reward])} bytes, ${change(end[reward] / start[reward])}`;
  return html`
    <${Section} id=${id} title="What to switch on: ${program}"
      text="${reward}: ${sizes}. A lever is measured on top of those above it; alone, against the build as it was.">
      <div class="card pad stack">
        <${Waterfall} ladder=${ladder} />
        <p class="note mono">passpilot cc ${flags}</p>
      </div>
      <div class="card"><${Table} columns=${columns} rows=${rows} caption="Levers of ${program}" label="levers" /></div>
    <//>
  `;
}

/** Whether a lever is taken, or why not, and what is lost by it. */
function verdictOf({ is_taken, note, loses }) {
  if (is_taken) return loses ? `taken; ${loses}` : "taken";
  return note.startsWith("--allow") ? `${note}: ${loses.replace(/^hardening: /, "")}` : note;
}

/** The levers that are taken, by what is left and what each of them took: {name, before, after, hue}. */
function rungsOf({ reward, start, rows }) {
  const whole = start[reward];
  const taken = rows.filter(({ is_taken }) => is_taken);
  const left = [whole, ...taken.map(({ on_top }) => on_top[reward])].map((size) => size / whole);
  return taken.map(({ lever, group }, at) => ({
    name: lever,
    before: left[at],
    after: left[at + 1],
    hue: group ? "var(--bad)" : "var(--good)",
  }));
}

function Waterfall({ ladder }) {
  const [box, width] = useWidth();
  const rungs = rungsOf(ladder);
  const left = Math.min(140, width * 0.35);
  const x = (part) => left + part * (width - left - 64);
  const summary = rungs.map(({ name, before, after }) => `${name} ${change(after / before)}`).join(", ");
  return html`
    <div ref=${box}>
      ${
        width > 0 &&
        html`
        <svg class="plot" width=${width} height=${RUNG * rungs.length} role="img" aria-label=${summary}>
          ${rungs.map(
            ({ name, before, after, hue }, at) => html`
              <text x=${left - 10} y=${at * RUNG + 16} text-anchor="end">${name}</text>
              <rect x=${left} y=${at * RUNG + 3} width=${x(after) - left} height=${RUNG - 8} fill="var(--edge)" />
              <rect x=${x(after)} y=${at * RUNG + 3} width=${Math.max(1, x(before) - x(after))}
                height=${RUNG - 8} fill=${hue} />
              <text x=${x(before) + 8} y=${at * RUNG + 16}>${change(after / before)}</text>
            `,
          )}
        </svg>
      `
      }
      <div class="legend">
        <span><i style=${{ "--hue": "var(--good)" }} />costs nothing</span>
        <span><i style=${{ "--hue": "var(--bad)" }} />something is lost</span>
      </div>
    </div>
  `;
}
