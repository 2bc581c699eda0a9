// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bundles the libraries of the page of `passpilot report`; needs npm and the network, as nothing else does:
//
//     cd tools/report_libraries && npm ci && node build.js [FOLDER]
//
// FOLDER is training/report/page/vendor unless another one is given. It gets the bundle with the licences of
// all packages in it, and a record of what it was made of. To take newer versions, edit package.json and run
// `npm install` first. Chosen for their size: all of them together are smaller than one plot library.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const folder = process.argv[2] ?? "../../training/report/page/vendor";
const hash = (data) => createHash("sha256").update(data).digest("hex");
const sources = ["package-lock.json", "entry.js", "build.js"];

/** The packages whose files are in a bundle, with their licences. */
function packagesOf(inputs) {
  const names = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names)]
    .filter(Boolean)
    .sort()
    .map((name) => {
      const folder = `node_modules/${name}`;
      const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
      const file = readdirSync(folder).find((path) => /^licen[cs]e/i.test(path));
      return { name, version, license, text: readFileSync(`${folder}/${file}`, "utf8").trim() };
    });
}

/** Every licence once, under the packages that have it; what differs is who holds the copyright. */
function licencesOf(packages) {
  const groups = new Map();
  for (const { name, version, license, text } of packages) {
    const holder = /^copyright .*$/im.exec(text)?.[0] ?? "";
    const terms = text.replace(holder, "").trim().replaceAll("*/", "* /");
    groups.set(terms, [...(groups.get(terms) ?? []), `${name} ${version} (${license}). ${holder}`]);
  }
  return [...groups].map(([terms, heads]) => `${heads.join("\n")}\n\n${terms}`).join("\n\n\n");
}

const options = {
  entryPoints: ["entry.js"],
  bundle: true,
  charset: "utf8",
  format: "iife",
  globalName: "vendor",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  minify: true,
  target: "es2022",
  write: false,
};
const { outputFiles, metafile } = await build(options);
const packages = packagesOf(metafile.inputs);
const bundle = `/*!\n${licencesOf(packages)}\n*/\n${outputFiles[0].text}`;
const record = {
  packages: Object.fromEntries(packages.map(({ name, version }) => [name, version])),
  sha256: Object.fromEntries([
    ["libraries.js", hash(bundle)],
    ...sources.map((path) => [path, hash(readFileSync(path))]),
  ]),
};
writeFileSync(`${folder}/libraries.js`, bundle);
writeFileSync(`${folder}/record.json`, `${JSON.stringify(record, null, 1)}\n`);
