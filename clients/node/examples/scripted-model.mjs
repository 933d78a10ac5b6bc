// Follows a turn of a model that `toolgate script-server` plays: `node examples/scripted-model.mjs`.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findProgram, Toolgate } from "toolgate";

const SCRIPT = `\
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "echo 42 > answer.txt"}}]}
{"items": [{"type": "message", "text": "The answer is in answer.txt."}]}
`;

const folder = await mkdtemp(join(tmpdir(), "toolgate-example-"));
const script = join(folder, "script.jsonl");
await writeFile(script, SCRIPT);
const model = spawn(findProgram(), ["script-server", script], { stdio: ["ignore", "pipe", "inherit"] });
const client = await Toolgate.start();
try {
  const [line] = await once(createInterface({ input: model.stdout }), "line");
  const base_url = line.match(/http:\S+/)[0];
  const session = await client.session({
    cwd: folder,
    sandbox: "workspace-write",
    model: { name: "scripted", wire: "chat", base_url },
    onDelta(delta) {
      if (delta.kind === "text") console.log(`… ${delta.text}`);
    },
  });
  const turn = session.prompt("Write the answer to a file.");
  for await (const event of turn) {
    if (event.kind === "call") console.log(`call: ${event.tool} ${event.arguments}`);
    if (event.kind === "answered") console.log(`answered: ${event.success ? "success" : "failure"}`);
  }
  const { ended, detail, text } = await turn;
  console.log(`${ended}: ${detail ?? text}`);
  console.log(`answer.txt: ${(await readFile(join(folder, "answer.txt"), "utf8")).trim()}`);
} finally {
  await client.close();
  model.kill();
  await rm(folder, { recursive: true });
}
