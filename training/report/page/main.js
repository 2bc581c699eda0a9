// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the page together: reads the data, makes a section for whatever is in it, and the switch of colours.

/** The data of the page: gzipped JSON in base64, so that no text in it can be taken for HTML. */
async function readData() {
  const bytes = Uint8Array.from(atob(byId("data").textContent.trim()), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The switch between the system's colours, light and dark; the choice is kept if the browser allows it. */
function setUpTheme() {
  const button = byId("theme");
  const icons = {
    auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2v12M11 3.2v9.6",
    light:
      "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6" +
      "M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
    dark: "M13.5 9.6A6 6 0 0 1 6.4 2.5 6 6 0 1 0 13.5 9.6Z",
  };
  const words = { auto: "as the system", light: "light", dark: "dark" };
  const order = ["auto", "light", "dark"];
  let kept = "auto";
  try {
    kept = localStorage.getItem("passpilot-theme") ?? "auto";
  } catch {
    /* a browser may forbid it to files */
  }
  const apply = (theme) => {
    kept = order.includes(theme) ? theme : "auto";
    if (kept === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = kept;
    button.replaceChildren(icon(icons[kept]));
    button.setAttribute("aria-label", `Colours: ${words[kept]}`);
    button.title = `Colours: ${words[kept]}`;
  };
  button.addEventListener("click", () => {
    apply(order[(order.indexOf(kept) + 1) % order.length]);
    try {
      localStorage.setItem("passpilot-theme", kept);
    } catch {
      /* as above */
    }
  });
  apply(kept);
}

function main(data) {
  const readable = new Map(Object.entries(data.demangled));
  const shown = (name) => readable.get(name) ?? name;
  const runs = data.runs.map((raw) => new Run(raw, data.strings, shown)).filter((run) => run.size);
  const titled = (name) => (data.evaluations.length > 1 ? `${name}: ` : "");
  const evaluations = data.evaluations.map(({ name, raw }) => ({
    name,
    raw,
    view: new Evaluation(raw, titled(name)),
  }));
  byId("about").textContent = data.about;
  const parts = [
    tilesOf(data, runs, evaluations),
    ...evaluations.map(({ name, raw, view }, at) =>
      section(
        `programs${at || ""}`,
        evaluations.length > 1 ? `Programs: ${name}` : "Programs",
        factsOf(raw),
        view.controls,
        view.element,
      ),
    ),
    ...comparedEvaluations(data),
    ...bytesOf(data, shown),
    ...searchOf(data),
    ...unitsOf(data),
    ...costsOf(data, shown),
    ...modulesSection(runs),
    ...decisionsOf(data, runs, shown),
  ].filter(Boolean);
  byId("state").remove();
  const empty = h(
    "p",
    { class: "notice" },
    "There is nothing to show: the inputs have no decision and no result.",
  );
  byId("content").append(...(parts.length ? parts : [empty]));
  setUpNavigation();
}

function setUpNavigation() {
  const sections = [...document.querySelectorAll("main > section[aria-labelledby]")];
  const links = new Map(
    sections.map((each) => [each, h("a", { href: `#${each.id}` }, each.querySelector("h2").textContent)]),
  );
  byId("nav").replaceChildren(...links.values());
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries)
        if (isIntersecting) {
          links.forEach((link) => link.removeAttribute("aria-current"));
          links.get(target).setAttribute("aria-current", "true");
        }
    },
    { rootMargin: "-64px 0px -70% 0px" },
  );
  sections.forEach((each) => seen.observe(each));
}

setUpTheme();
readData()
  .then(main)
  .catch((error) => {
    const state = byId("state");
    if (!state) throw error;
    const needs = "It needs a browser of 2024 or newer.";
    state.textContent = `The data of this page cannot be shown: ${error.message}. ${needs}`;
    state.classList.add("error");
  });
