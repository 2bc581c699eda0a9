// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers and names as people read them.

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A whole number with separators: 12,345. */
const count = (number) => (Math.abs(number) < 1e15 ? grouped.format(number) : number.toExponential(3));

/** A change with its sign: +12, −3, 0. */
const signed = (number) => (number > 0 ? "+" : number < 0 ? "−" : "") + count(Math.abs(number));

/** `count` and a noun, which gets an s unless there is one: "3 calls". */
const things = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** The change from 1 in percent, with the word: 0.94 is "6.0 % smaller". */
function change(ratio, digits = 1) {
  if (ratio === null || !Number.isFinite(ratio)) return "–";
  const text = Math.abs((ratio - 1) * 100).toFixed(Math.abs(ratio - 1) < 0.01 && digits < 2 ? 2 : digits);
  const word = /[1-9]/.test(text) ? (ratio > 1 ? " larger" : " smaller") : "";
  return `${text} %${word}`;
}

/** A share in percent: 0.912 is "91.2 %". */
const share = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "–");

/** A number of a feature: few digits, never wide. */
function figure(number) {
  if (number === null || number === undefined) return "–";
  if (Number.isInteger(number))
    return Math.abs(number) < 1e12 ? count(number).replace("-", "−") : number.toExponential(2);
  const size = Math.abs(number);
  return (size >= 1e6 || size < 1e-3 ? number.toExponential(2) : String(+number.toPrecision(4))).replace(
    /^-/,
    "−",
  );
}

/** Seconds with three digits. */
function seconds(number) {
  if (number === null || number === undefined) return "–";
  if (number < 1) return `${(number * 1000).toPrecision(3).replace(/\.?0+$/, "") || 0} ms`;
  return number < 120 ? `${number.toPrecision(3)} s` : `${(number / 60).toFixed(1)} min`;
}

/** A text of at most `most` characters, cut in its middle. */
function middle(text, most) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

const OPERATOR =
  /\boperator\s*(\(\)|\[\]|<=>|<<=|>>=|->\*|->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%^&|~!=<>,]=?)/g;

const HIDDEN = { "<": "‹", ">": "›", "(": "❨", ")": "❩" };

/** A demangled C++ name without parameters, template arguments and outer scopes; other names stay. */
function brief(name) {
  if (!/[:(]/.test(name)) return name;
  let flat = "";
  let depth = 0;
  const text = name
    .replaceAll("(anonymous namespace)", "{anonymous}")
    .replace(OPERATOR, (all) => all.replace(/[<(>)]/g, (mark) => HIDDEN[mark]));
  for (const mark of text) {
    if (mark === "<") {
      if (depth++ === 0) flat += "<…>";
    } else if (mark === ">") depth = Math.max(0, depth - 1);
    else if (depth === 0) {
      if (mark === "(") break;
      flat += mark;
    }
  }
  const words = flat.trim().split(/ (?!\[)/);
  const at = words.findIndex((word) => /(^|:)operator(?!\w)/.test(word));
  const named = at >= 0 ? words.slice(at).join(" ") : words[words.length - 1];
  const parts = named.split("::").filter((part) => !/^(__1|__cxx11|\{anonymous\})$/.test(part));
  const short = parts.slice(-2).join("::");
  return (
    short.replace(/[‹›❨❩]/g, (mark) => Object.keys(HIDDEN).find((plain) => HIDDEN[plain] === mark)) || name
  );
}
