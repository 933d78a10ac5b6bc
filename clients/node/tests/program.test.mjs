// Lookup of the program, and the command `toolgate` of the package, both as an installed package would see them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { PACKAGE, run, world } from "./support.mjs";

const PLATFORM = `@toolgate/${process.platform}-${process.arch}`;

/** Installs a copy of the package, so that programs can be put beside it. */
function installed(t) {
  const here = world(t);
  const modules = join(here.root, "node_modules");
  for (const part of ["dist", "package.json"])
    cpSync(join(PACKAGE, part), join(modules, "toolgate", part), { recursive: true });
  chmodSync(join(modules, "toolgate/dist/launcher.js"), 0o755);
  mkdirSync(join(modules, ".bin"));
  symlinkSync("../toolgate/dist/launcher.js", join(modules, ".bin/toolgate"));
  const put = (path) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\necho "${path} $*"; exit 3\n`, { mode: 0o755 });
    return path;
  };
  // As in an npm script: the launcher is first in PATH, then a directory for programs, then what `env` and `sh` need.
  // Not all of /usr/bin: a `toolgate` may be installed there.
  const [bin, needed] = [join(here.root, "bin"), join(here.root, "needed")];
  mkdirSync(needed);
  for (const program of [process.execPath, "/usr/bin/dirname"]) symlinkSync(program, join(needed, basename(program)));
  const path = [join(modules, ".bin"), bin, needed].join(delimiter);
  const find = async (command, env = {}) => {
    const url = pathToFileURL(join(modules, "toolgate/dist/index.js"));
    const code = `import { findProgram } from ${JSON.stringify(url)}; try { console.log(findProgram(${JSON.stringify(command)})) } catch (error) { console.log(error.reason, error.message) }`;
    return (
      await run(process.execPath, ["--input-type=module", "-e", code], { env: { PATH: path, ...env } })
    ).out.trim();
  };
  const launch = (...args) => run("toolgate", args, { env: { PATH: path } });
  return { modules, bin, put, find, launch, path };
}

test("the option comes first, then TOOLGATE_BIN, the packaged program, the platform package, PATH", async (t) => {
  const { modules, bin, put, find } = installed(t);
  assert.equal(
    await find(),
    `program_not_found there is no program \`toolgate\`; searched: the option \`command\`, the variable TOOLGATE_BIN, the package ${PLATFORM}, PATH`,
  );
  assert.equal(await find(undefined), await find());
  const inPath = put(join(bin, "toolgate"));
  assert.equal(await find(), inPath, "the launcher of the package, which is first in PATH, is skipped");
  const platform = put(join(modules, PLATFORM, "bin/toolgate"));
  writeFileSync(join(modules, PLATFORM, "package.json"), JSON.stringify({ name: PLATFORM, version: "0.1.0" }));
  assert.equal(await find(), platform);
  const own = put(join(modules, "toolgate/bin/toolgate"));
  assert.equal(await find(), own);
  assert.equal(await find(undefined, { TOOLGATE_BIN: "/some/where" }), "/some/where");
  assert.equal(await find("named", { TOOLGATE_BIN: "/some/where" }), "named");
});

test("a file in PATH that cannot be executed is skipped", async (t) => {
  const { bin, put, find } = installed(t);
  chmodSync(put(join(bin, "toolgate")), 0o644);
  assert.match(await find(), /^program_not_found/);
});

test("the command `toolgate` runs the program with its arguments and exit status", async (t) => {
  const { modules, bin, put, launch } = installed(t);
  const missing = await launch("--version");
  assert.deepEqual(
    [missing.status, missing.err],
    [127, `toolgate: there is no program for this machine; searched: the package ${PLATFORM}, PATH\n`],
  );
  const program = put(join(bin, "toolgate"));
  assert.deepEqual(await launch("a", "b c"), { out: `${program} a b c\n`, err: "", status: 3 });
  writeFileSync(put(join(modules, "toolgate/bin/toolgate")), "#!/bin/sh\nkill -9 $$\n");
  assert.equal((await launch()).status, 137);
});

test("the command `toolgate` passes SIGTERM to the program and waits for it", async (t) => {
  const { bin, put, path } = installed(t);
  const program = "process.on('SIGTERM', () => process.exit(4)).stdin.on('data', () => {}); console.log('ready')";
  writeFileSync(put(join(bin, "toolgate")), `#!/usr/bin/env node\n${program}\n`);
  const launcher = spawn("toolgate", [], { env: { PATH: path }, stdio: ["pipe", "pipe", "inherit"] });
  await once(launcher.stdout, "data");
  launcher.kill("SIGTERM");
  assert.deepEqual(await once(launcher, "exit"), [4, null]);
});

test("a script in PATH that starts the command again does not start it for ever", async (t) => {
  const { bin, put, launch } = installed(t);
  const script = put(join(bin, "toolgate"));
  writeFileSync(script, '#!/bin/sh\necho again >&2\n"$(dirname "$0")/../node_modules/.bin/toolgate"\n');
  const { status, err } = await launch();
  assert.equal(status, 126);
  assert.equal(err, `${"again\n".repeat(4)}toolgate: \`${script}\` starts this launcher again\n`);
});
