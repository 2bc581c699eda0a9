// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small parts of the page. Texts become text nodes, never HTML: no name can end a script or begin a tag.

const { html, useEffect, useLayoutEffect, useMemo, useRef, useState } = vendor;

const byId = (id) => document.getElementById(id);

/** A line drawing of 16 × 16. */
const Icon = ({ shape }) => html`
  <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${shape} /></svg>
`;

/** A section of the page; `controls` stand beside its heading. */
const Section = ({ id, title, text, controls, children }) => html`
  <section id=${id} aria-labelledby="${id}-title">
    <div class="section-head">
      <div><h2 id="${id}-title">${title}</h2>${text && html`<p>${text}</p>`}</div>
      ${controls && html`<div class="controls">${controls}</div>`}
    </div>
    ${children}
  </section>
`;

/** A row of buttons of which one is pressed; `options` are [value, label]. */
const Choice = ({ label, options, value, onPick }) => html`
  <div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([key, text]) => html`
        <button type="button" aria-pressed=${String(key === value)} onClick=${() => onPick(key)}>
          ${text}
        </button>
      `,
    )}
  </div>
`;

/** A menu with its label; `options` are [value, label], values are texts or numbers. */
const Menu = ({ label, options, value, onPick }) => html`
  <label class="field">
    ${label}
    <select onChange=${(event) => onPick(options[event.target.selectedIndex][0])}>
      ${options.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}
    </select>
  </label>
`;

/** Two menus with the same options; `labels` are those of both menus, `pair` their values. */
const PairMenus = ({ labels, options, pair, onPick }) =>
  pair.map((value, side) => {
    const pick = (picked) => onPick(pair.with(side, picked));
    return html`<${Menu} label=${labels[side]} options=${options} value=${value} onPick=${pick} />`;
  });

/** The options of a menu whose values are the numbers of names. */
const numbered = (names) => names.map((name, at) => [at, name]);

/** Moves the focus from one element of a group to another, the only one that Tab reaches. */
function moveFocus(from, to) {
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

/** A ref for an element, and its width. */
function useWidth() {
  const ref = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.floor(ref.current?.clientWidth ?? 0)));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

const tip = {
  /** Shows a text near the pointer or the element. */
  show(text, event) {
    const box = byId("tip");
    box.textContent = text;
    box.hidden = false;
    const element = event.target.getBoundingClientRect();
    const x = event.clientX || element.left + element.width / 2;
    const y = event.clientY || element.top + element.height / 2;
    const { width, height } = box.getBoundingClientRect();
    const left = Math.max(6, Math.min(x + 14, innerWidth - width - 6));
    const top = y + 18 + height > innerHeight ? y - height - 12 : y + 18;
    box.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(4, top))}px)`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};

/** Listeners that show a text while the pointer or the focus is on an element; `textOf` gets the event. */
function tipped(textOf) {
  const show = (event) => {
    const text = textOf(event);
    if (text) tip.show(text, event);
  };
  return { onPointerMove: show, onPointerLeave: tip.hide, onFocusIn: show, onFocusOut: tip.hide };
}
