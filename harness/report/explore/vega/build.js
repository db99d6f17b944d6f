// Bundle the libraries to vega.min.js, and write the licences of all packages in it, and its hash. See README.md.
import {createHash} from "node:crypto";
import {readFileSync, readdirSync, writeFileSync} from "node:fs";
import {build} from "esbuild";

const options = {
  entryPoints: ["entry.js"], bundle: true, minify: true, format: "iife", globalName: "ckrrVega", platform: "browser",
  target: "es2022", charset: "ascii", legalComments: "none", metafile: true, write: false,
};

const findPackages = inputs => {
  const names = new Set(inputs.map(path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  return [...names].sort().map(name => {
    const folder = `node_modules/${name}`;
    const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf-8"));
    const file = readdirSync(folder).find(one => /^licen[cs]e/i.test(one));
    const text = file ? readFileSync(`${folder}/${file}`, "utf-8").replaceAll("\r\n", "\n").trim() : `Licence: ${about.license}`;
    return {name, version: about.version, text};
  });
};

// Packages with the same licence text share it.
const formatLicences = packages => {
  const groups = new Map();
  for (const one of packages) groups.set(one.text, [...groups.get(one.text) ?? [], one]);
  return [...groups].map(([text, some]) => `${some.map(one => `${one.name} ${one.version}`).join(", ")}\n\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`);
};

const made = await build(options);
const packages = findPackages(Object.keys(made.metafile.inputs));
const licences = formatLicences(packages);
const text = `/*!\n${licences.replaceAll("*/", "* /").replace(/[^\x00-\x7f]/g, "?")}*/\n${made.outputFiles[0].text}`;
const sha256 = createHash("sha256").update(text).digest("hex");
writeFileSync("vega.min.js", text);
writeFileSync("LICENCES.txt", licences);
const versions = Object.fromEntries(packages.map(one => [one.name, one.version]));
writeFileSync("bundle.json", `${JSON.stringify({sha256, packages: versions}, null, 2)}\n`);
console.log(`vega.min.js: ${text.length} bytes, ${packages.length} packages, SHA-256 ${sha256}`);
