// Lookup of the `toolgate` program: an option, TOOLGATE_BIN, a packaged program, PATH.

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ProgramNotFound } from "./errors.js";

/** Finds the program to start. Throws `ProgramNotFound`, which lists the places that were searched. */
export function findProgram(command?: string): string {
  const named = command ?? process.env["TOOLGATE_BIN"];
  if (named) return named;
  const found = findInstalled();
  if (found) return found;
  const places = ["the option `command`", "the variable TOOLGATE_BIN", `the package ${platformPackage()}`, "PATH"];
  throw new ProgramNotFound(`there is no program \`toolgate\`; searched: ${places.join(", ")}`);
}

/** Finds a packaged program, or one in PATH. */
export function findInstalled(): string | undefined {
  return packaged() ?? inPath();
}

/** Name of the optional package that has the program for this machine. */
export function platformPackage(): string {
  return `@toolgate/${process.platform}-${process.arch}`;
}

function packaged(): string | undefined {
  const own = fileURLToPath(new URL("../bin/toolgate", import.meta.url));
  if (isExecutable(own)) return own;
  try {
    return createRequire(import.meta.url).resolve(`${platformPackage()}/bin/toolgate`);
  } catch {
    return undefined;
  }
}

function inPath(): string | undefined {
  const directories = (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  return directories.map((each) => join(each, "toolgate")).find((each) => isExecutable(each) && !isLauncher(each));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** True for the launcher of this package, which would look for the program again. npm links it into PATH. */
function isLauncher(path: string): boolean {
  return realpathSync(path).endsWith("/dist/launcher.js");
}
