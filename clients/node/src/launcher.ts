#!/usr/bin/env node
// The command `toolgate` of this package: runs the packaged program, or the one in PATH, with the same arguments.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findInstalled, platformPackage } from "./program.js";

const program = findInstalled();
if (program === undefined) {
  console.error(`toolgate: there is no program for this machine; searched: the package ${platformPackage()}, PATH`);
  process.exitCode = 127;
} else {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  // The launcher lives as long as the program. A terminal sends these two to the program as well.
  process.on("SIGINT", () => {}).on("SIGHUP", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("error", (error) => {
    console.error(`toolgate: \`${program}\` cannot be started: ${error.message}`);
    process.exitCode = 126;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0);
  });
}
