// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the page together: reads the data, makes a section for whatever is in it, and the switch of colours.

/** The data of the page: gzipped JSON in base64, so that no text in it can be taken for HTML. */
async function readData() {
  const bytes = Uint8Array.from(atob(byId("data").textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The words and the icon of every theme, in the order of the switch. */
const THEMES = {
  auto: ["as the system", "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2v12M11 3.2v9.6"],
  light: [
    "light",
    "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15" +
      "M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  ],
  dark: ["dark", "M13.5 9.6A6 6 0 0 1 6.4 2.5 6 6 0 1 0 13.5 9.6Z"],
};

/** The choice of a theme that the browser keeps; a browser may forbid files to keep one. */
function storage(method, ...values) {
  try {
    return localStorage[method]("passpilot-theme", ...values);
  } catch {
    return null;
  }
}

/** The switch between the system's colours, light and dark. */
function ThemeSwitch() {
  const [theme, setTheme] = useState(() =>
    Object.hasOwn(THEMES, storage("getItem")) ? storage("getItem") : "auto",
  );
  useLayoutEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next = () => {
    const names = Object.keys(THEMES);
    const name = names[(names.indexOf(theme) + 1) % names.length];
    storage("setItem", name);
    setTheme(name);
  };
  const [words, shape] = THEMES[theme];
  const label = `Colours: ${words}`;
  return html`
    <button id="theme" class="quiet" type="button" aria-label=${label} title=${label} onClick=${next}>
      <${Icon} shape=${shape} />
    </button>
  `;
}

function Page({ data }) {
  const demangled = useMemo(() => new Map(Object.entries(data.demangled)), []);
  const shown = (name) => demangled.get(name) ?? name;
  const runs = useMemo(
    () => data.runs.map((raw) => new Run(raw, data.strings, shown)).filter(({ size }) => size),
    [],
  );
  const several = data.evaluations.length > 1;
  const evaluations = useMemo(
    () =>
      data.evaluations.map(({ name, raw }) => ({
        name,
        prefix: several ? `${name}: ` : "",
        evaluation: new Evaluation(raw),
      })),
    [],
  );
  const tiles = tilesOf({ data, runs, evaluations });
  return html`
    <div class="hero"><h1>${document.title}</h1><p class="lead">${data.about}</p></div>
    ${tiles.length > 0 && html`<${Tiles} tiles=${tiles} />`}
    ${evaluations.map(
      ({ name, ...evaluation }, at) => html`
        <${EvaluationSection} id="programs${at || ""}" title=${several ? `Programs: ${name}` : "Programs"}
          ...${evaluation} />
      `,
    )}
    ${several && html`<${EvaluationsSection} evaluations=${evaluations} />`}
    ${data.ladders.map(
      (ladder, at) => html`<${LadderSection} id="ladder${at || ""}" ladder=${ladder} />`,
    )}
    <${BytesSection} data=${data} shown=${shown} />
    <${SearchSection} data=${data} />
    <${UnitsSection} data=${data} />
    ${data.costs.map((cost, at) => html`<${CostSection} id="costs${at || ""}" ...${{ cost, shown }} />`)}
    <${ModulesSection} runs=${runs} />
    <${RunSections} data=${data} runs=${runs} shown=${shown} />
  `;
}

/** Links to the sections; that of the section in sight is marked. */
function Navigation({ sections }) {
  const [current, setCurrent] = useState(null);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.findLast(({ isIntersecting }) => isIntersecting);
        if (entry) setCurrent(entry.target);
      },
      { rootMargin: "-64px 0px -70% 0px" },
    );
    sections.forEach((element) => observer.observe(element));
  }, []);
  return sections.map(
    (element) => html`
      <a href="#${element.id}" aria-current=${element === current ? "true" : null}>
        ${element.querySelector("h2").textContent}
      </a>
    `,
  );
}

function main(data) {
  const content = byId("content");
  content.replaceChildren();
  vendor.render(html`<${Page} data=${data} />`, content);
  const nothing = "There is nothing to show: the inputs have no decision and no result.";
  if (!content.querySelector("section")) vendor.render(html`<p class="notice">${nothing}</p>`, content);
  const sections = [...content.querySelectorAll("section[aria-labelledby]")];
  vendor.render(html`<${Navigation} sections=${sections} />`, byId("nav"));
}

vendor.render(html`<${ThemeSwitch} />`, byId("switch"));
readData()
  .then(main)
  .catch((error) => {
    const state = byId("state");
    if (!state) throw error;
    const needs = "It needs a browser of 2024 or newer.";
    state.textContent = `The data of this page cannot be shown: ${error.message}. ${needs}`;
    state.classList.add("error");
  });
