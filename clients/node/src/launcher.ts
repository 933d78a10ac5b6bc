#!/usr/bin/env node
// The command `toolgate` of this package: runs the packaged program, or the one in PATH, with the same arguments.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findInstalled, platformPackage } from "./program.js";

/** Variable that counts nested launchers, and its limit: a script in PATH may start the launcher again. */
const DEPTH = "TOOLGATE_LAUNCHER_DEPTH";
const DEEPEST = 4;

const depth = Number(process.env[DEPTH] ?? 0) + 1;
const program = findInstalled();
if (program === undefined) {
  fail(127, `there is no program for this machine; searched: the package ${platformPackage()}, PATH`);
} else if (depth > DEEPEST) {
  fail(126, `\`${program}\` starts this launcher again`);
} else {
  const child = spawn(program, process.argv.slice(2), {
    stdio: "inherit",
    env: { ...process.env, [DEPTH]: `${depth}` },
  });
  // The launcher lives as long as the program. A terminal sends these two to the program as well.
  process.on("SIGINT", () => {}).on("SIGHUP", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("error", (error) => fail(126, `\`${program}\` cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0);
  });
}

function fail(status: number, message: string): void {
  console.error(`toolgate: ${message}`);
  process.exitCode = status;
}
