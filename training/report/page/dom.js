// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes elements. Texts become text nodes, never HTML: no name can end a script or begin a tag.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; properties with "on" at their begin are listeners, those with "--" are of its style. */
function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** An SVG element. */
function s(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** A line drawing of 16 × 16. */
const icon = (shape) =>
  s(
    "svg",
    { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" },
    s("path", {
      d: shape,
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.5,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );

const byId = (id) => document.getElementById(id);

/** A section of the page with its heading; `controls` stand beside it. */
function section(id, title, text, controls, ...children) {
  const head = h(
    "div",
    { class: "section-head" },
    h("div", {}, h("h2", { id: `${id}-title` }, title), text && h("p", {}, text)),
  );
  if (controls) head.append(h("div", { class: "controls" }, controls));
  return h("section", { id, "aria-labelledby": `${id}-title` }, head, ...children);
}

/** A row of buttons of which one is pressed; `options` are [value, label]. */
function choice(label, options, value, changed) {
  const buttons = options.map(([each, text]) =>
    h("button", { type: "button", "aria-pressed": String(each === value), onclick: () => press(each) }, text),
  );
  const press = (each) => {
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(options[at][0] === each)));
    changed(each);
  };
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

/** A menu with its label; `options` are [value, label], values are texts. */
function menu(label, options, value, changed) {
  const select = h(
    "select",
    { onchange: () => changed(select.value) },
    options.map(([each, text]) => h("option", { value: each, selected: each === value }, text)),
  );
  return h("label", { class: "field" }, label, select);
}

/** Calls `draw(width)` now and whenever the width of the element changes. */
function onWidth(element, draw) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width && width !== last) draw((last = width));
  }).observe(element);
}

const tip = {
  /** Shows a text near the pointer or the element. */
  show(text, event) {
    const box = byId("tip");
    box.textContent = text;
    box.hidden = false;
    const at = event.clientX ? { x: event.clientX, y: event.clientY } : middleOf(event.target);
    const { width, height } = box.getBoundingClientRect();
    const x = Math.max(6, Math.min(at.x + 14, innerWidth - width - 6));
    const y = at.y + 18 + height > innerHeight ? at.y - height - 12 : at.y + 18;
    box.style.transform = `translate(${Math.round(x)}px, ${Math.round(Math.max(4, y))}px)`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};

function middleOf(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

/** Listeners that show a text while the pointer or the focus is on an element. */
const tipped = (text) => ({
  onpointermove: (event) => tip.show(text(), event),
  onpointerleave: tip.hide,
  onfocus: (event) => tip.show(text(), event),
  onblur: tip.hide,
});
