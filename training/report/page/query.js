// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The filter of a table: `callee:get cost_estimate<50 is:unlike -caller:main "two words"`.

const TOKEN = /(-)?(?:([\w@.[\]]+)(<=|>=|!=|<|>|=|:))?(?:"([^"]*)"?|(\S+))/g;

const COMPARE = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  ":": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

/**
 * Compiles a filter. `columns` have `key`, `kind`, `value(row)` and `text(row)`; `words` are the tests of
 * `is:WORD` by word. Returns `{test(row), error}`; all conditions must hold.
 */
function compileQuery(text, columns, words) {
  const byKey = new Map(columns.map((column) => [column.key.toLowerCase(), column]));
  const texts = columns.filter(({ kind }) => kind !== "number");
  const tests = [];
  for (const [, not, key, operator, quoted, plain] of text.matchAll(TOKEN)) {
    const wanted = (quoted ?? plain ?? "").toLowerCase();
    const test = condition(key?.toLowerCase(), operator, wanted, byKey, texts, words);
    if (typeof test === "string") return { test: () => true, error: test };
    tests.push(not ? (row) => !test(row) : test);
  }
  return { test: (row) => tests.every((test) => test(row)), error: "" };
}

/** The test of one condition, or what is wrong with it. */
function condition(key, operator, wanted, byKey, texts, words) {
  if (!key) return (row) => texts.some(({ text }) => text(row).toLowerCase().includes(wanted));
  if (key === "is")
    return Object.hasOwn(words, wanted)
      ? words[wanted]
      : `is: takes ${Object.keys(words).join(", ")}; got “${wanted}”`;
  const column = byKey.get(key);
  if (!column) return `there is no column “${key}”${nearest(key, [...byKey.keys()])}`;
  if (column.kind === "number") {
    const number = Number(wanted);
    if (wanted === "" || Number.isNaN(number)) return `“${key}” is compared with a number: ${key}<50`;
    return (row) => column.value(row) !== null && COMPARE[operator](column.value(row), number);
  }
  if (operator === ":") return (row) => column.text(row).toLowerCase().includes(wanted);
  if (operator === "=") return (row) => column.text(row).toLowerCase() === wanted;
  if (operator === "!=") return (row) => column.text(row).toLowerCase() !== wanted;
  return `“${key}” is a text: use ${key}:word or ${key}=word`;
}

/** "; did you mean …?" for a key that shares its beginning or its letters with a known one. */
function nearest(key, known) {
  const found =
    known.find((other) => other.startsWith(key.slice(0, 4))) ?? known.find((other) => other.includes(key));
  return found ? `; did you mean “${found}”?` : "";
}
