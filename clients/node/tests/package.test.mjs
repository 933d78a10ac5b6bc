// The package as users get it: packed, installed into an empty directory, with its examples, its README and its types.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { BINARY, call, message, PACKAGE, run, world } from "./support.mjs";

const EXAMPLES = {
  "approval.mjs": [
    "exec_command asks for `touch kept.txt`, because `touch kept.txt` may change something, and the approval policy is untrusted: approved",
    "touch kept.txt: done",
    "exec_command asks for `rm -rf kept.txt`, because `rm -rf kept.txt` removes files without asking: denied",
    "rm -rf kept.txt: denied",
    "kept.txt is still there",
  ],
  "dynamic-tool.mjs": ["the tool is called for Lisbon", "the turn is done; the model says: It is warm in Lisbon."],
  "process.mjs": ["line 1", "line 2", "line 3", "(error) no more", "exit status 5", "sorted: apple,pear"],
  "scripted-model.mjs": [
    'call: exec_command {"cmd":"echo 42 > answer.txt"}',
    "answered: success",
    "… The answer is in answer.txt.",
    "done: The answer is in answer.txt.",
    "answer.txt: 42",
  ],
};
const README = readFileSync(join(PACKAGE, "README.md"), "utf8");
const TSC = join(PACKAGE, "node_modules/typescript/bin/tsc");

/** Returns the code blocks of the README in a language. */
const blocks = (language) =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))].map(([, code]) => code);
/** Returns what a block says that it prints. */
const prints = (code) => [...code.matchAll(/\/\/ prints "(.*)"$/gm)].map(([, text]) => text);
const lines = (text) => text.split("\n").filter((line) => line !== "");

// Packed and installed once. The directory of the programs has nothing else of the package.
const here = world({ after });
const cwd = join(here.work, "app");
let tarball;
const files = await install();

/** Runs npm without the network. Returns its output. */
async function npmIn(directory, ...args) {
  const ran = await run("npm", args, {
    cwd: directory,
    env: { npm_config_cache: join(here.root, "npm"), npm_config_offline: "true" },
  });
  assert.equal(ran.status, 0, ran.err);
  return ran.out;
}

/** Packs the package and installs it into an empty directory. Returns the names of its files. */
async function install() {
  // Without scripts: the tests that run at the same time use `dist`, which `prepack` would remove.
  const packed = JSON.parse(await npmIn(here.work, "pack", PACKAGE, "--json", "--ignore-scripts", "--pack-destination", here.root));
  const [{ filename, files }] = Object.values(packed);
  writeFileSync(join(here.work, "package.json"), JSON.stringify({ private: true, type: "module" }));
  tarball = join(here.root, filename);
  await npmIn(here.work, "install", "--no-audit", "--no-fund", tarball);
  mkdirSync(cwd);
  return files.map(({ path }) => path);
}

function node(file) {
  return run(process.execPath, [file], { cwd, env: { ...here.env, TOOLGATE_BIN: BINARY, TMPDIR: here.root } });
}

test("the package has what it needs and nothing else", () => {
  for (const file of [
    "LICENSE",
    "README.md",
    "dist/index.js",
    "dist/index.d.ts",
    "dist/launcher.js",
    "examples/approval.mjs",
  ]) {
    assert.ok(files.includes(file), file);
  }
  assert.deepEqual(
    files.filter((file) => !/^(dist|examples|bin)\/|^(LICENSE|README\.md|package\.json)$/.test(file)),
    [],
  );
  const { dependencies, bin } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  assert.deepEqual([dependencies, bin], [undefined, { toolgate: "dist/launcher.js" }]);
});

test("the examples run from an installed package", async () => {
  assert.deepEqual(readdirSync(join(PACKAGE, "examples")), Object.keys(EXAMPLES));
  for (const [name, expected] of Object.entries(EXAMPLES)) {
    cpSync(join(PACKAGE, "examples", name), join(cwd, name));
    const { out, err, status } = await node(name);
    // Sorted: the streams of a process have no order between them, and neither have events and deltas.
    assert.deepEqual([status, lines(out).sort(), err], [0, [...expected].sort(), ""], name);
  }
  assert.deepEqual(
    readdirSync(here.root).filter((name) => name.startsWith("toolgate-example")),
    [],
  );
});

test("the JavaScript of the README runs", async () => {
  const script = here.script([call("temperature", { city: "Lisbon" })], [message("It is warm.")]);
  const [keyless, withModel, ...fragments] = blocks("js");
  writeFileSync(join(cwd, "keyless.mjs"), keyless);
  const plain = await node("keyless.mjs");
  assert.deepEqual([plain.status, lines(plain.out), plain.err], [0, prints(keyless), ""]);
  assert.ok(withModel.includes('{ name: "gpt-5" }'));
  const program = `${keyless.split("const session")[0]}${withModel}await client.close();\n`;
  writeFileSync(join(cwd, "program.mjs"), program.replace('{ name: "gpt-5" }', JSON.stringify({ script })));
  const { out, status, err } = await node("program.mjs");
  assert.deepEqual([status, err], [0, ""]);
  for (const line of ["prompt How warm is it in Lisbon?", "answered 21 degrees in Lisbon", "said It is warm."])
    assert.ok(lines(out).includes(line), out);
  assert.ok(fragments.length >= 3);
  for (const [index, fragment] of fragments.entries()) {
    const session = fragment.includes("const session")
      ? ""
      : "const session = await client.session({ approval: 'never' });\n";
    const code = `import { Toolgate } from "toolgate";\nconst client = await Toolgate.start();\n${session}${fragment}await client.close();\n`;
    writeFileSync(join(cwd, `fragment-${index}.mjs`), code);
    const ran = await node(`fragment-${index}.mjs`);
    assert.deepEqual([ran.status, lines(ran.out), ran.err], [0, prints(fragment), ""], fragment);
  }
});

test("the README links to nothing outside of the package", () => {
  const links = [...README.matchAll(/\]\(([^)#]+)/g)].map(([, target]) => target);
  assert.ok(links.length > 3);
  const isPacked = (target) => files.some((file) => file === target || file.startsWith(`${target}/`));
  assert.deepEqual(links.filter((target) => !isPacked(target)), []);
});

test("CommonJS can load the package, and compilers find its types", async () => {
  const program = 'const { Toolgate } = require("toolgate");\nconsole.log(typeof Toolgate.start);\n';
  writeFileSync(join(cwd, "program.cjs"), program);
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) {
    assert.equal((await node("program.cjs")).out, "function\n");
  }
  const source = 'import { Toolgate } from "toolgate";\nexport const started: Promise<Toolgate> = Toolgate.start();\n';
  for (const name of ["plain.ts", "common.cts", "module.mts"]) writeFileSync(join(cwd, name), source);
  for (const [file, ...settings] of [
    ["module.mts", "--module", "node16"],
    ["common.cts", "--module", "nodenext"],
    ["plain.ts", "--module", "preserve"],
    ["plain.ts", "--module", "esnext", "--moduleResolution", "bundler"],
  ]) {
    const args = [TSC, "--ignoreConfig", "--noEmit", "--strict", "--target", "es2022", ...settings, file];
    const { status, out } = await run(process.execPath, args, { cwd });
    assert.deepEqual([status, out], [0, ""], settings.join(" "));
  }
});

test("the TypeScript program of the README runs in a fresh project, set up as the README says", async () => {
  const [program] = blocks("ts");
  const setup = blocks("sh").find((each) => each.includes("tsc --init"));
  assert.ok(README.includes("`npx tsc && node program.js`") && README.includes("this `program.ts`"));
  const directory = join(here.root, "fresh");
  mkdirSync(directory);
  for (const [name, ...words] of lines(setup).map((line) => line.split(" "))) {
    if (words.join(" ") === "tsc --init") {
      const { status, err } = await run(process.execPath, [TSC, "--init"], { cwd: directory });
      assert.equal(status, 0, err);
    } else if (words.at(-1) !== "typescript") {
      assert.equal(name, "npm");
      await npmIn(directory, ...words.map((word) => (word.endsWith(".tgz") ? tarball : word)));
    }
  }
  writeFileSync(join(directory, "program.ts"), program);
  const compiled = await run(process.execPath, [TSC], { cwd: directory });
  assert.deepEqual([compiled.status, compiled.out], [0, ""]);
  const env = { ...here.env, TOOLGATE_BIN: BINARY, TMPDIR: here.root };
  const ran = await run(process.execPath, ["program.js"], { cwd: directory, env });
  assert.deepEqual([ran.status, lines(ran.out), ran.err], [0, prints(program), ""]);
});

test("the types hold in a strict TypeScript program, and the program runs", async () => {
  const [readme, ...more] = blocks("ts");
  assert.deepEqual([more.length, prints(readme)], [0, ["refused -32008"]]);
  writeFileSync(join(cwd, "readme.ts"), readme);
  cpSync(join(PACKAGE, "tests/consumer.ts"), join(cwd, "consumer.ts"));
  // Neither the types of Node nor `skipLibCheck`: the declarations of the package stand alone.
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: "ES2022",
    module: "NodeNext",
    types: [],
    skipLibCheck: false,
  };
  writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["readme.ts", "consumer.ts"] }));
  const compiled = await run(process.execPath, [TSC], { cwd });
  assert.deepEqual([compiled.status, compiled.out], [0, ""]);
  const ran = await node("readme.js");
  assert.deepEqual([ran.status, lines(ran.out), ran.err], [0, prints(readme), ""]);
  const consumer = await node("consumer.js");
  assert.equal(consumer.status, 0, consumer.err);
  const { text, ...others } = JSON.parse(consumer.out);
  assert.deepEqual(JSON.parse(text), { types: ["Oslo", null, null, [1, 2], false, ""] });
  assert.deepEqual(others, {
    success: true,
    kinds: ["session", "call"],
    summaries: ["session  () => event.tool", 'forecast {"city":"Oslo","hours":[1,2]}'],
    streams: ["out\n", 0, false],
    described: "Says how the weather will be.",
    types: 6,
    more: 3,
  });
});
