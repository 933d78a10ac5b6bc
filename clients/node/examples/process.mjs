// Runs programs in the sandbox, and reads what they write: `node examples/process.mjs`.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Toolgate } from "toolgate";

const folder = await mkdtemp(join(tmpdir(), "toolgate-example-"));
const client = await Toolgate.start();
try {
  const session = await client.session({ cwd: folder, sandbox: "workspace-write", approval: "never" });
  const counting = await session.startProcess("for n in 1 2 3; do echo line $n; done; echo no more >&2; exit 5");
  for await (const { stream, text } of counting) process.stdout.write(stream === "stderr" ? `(error) ${text}` : text);
  console.log(`exit status ${counting.exitCode}`);

  const sorting = await session.startProcess(["sort"], { stdin: true });
  const { stdout } = await sorting.output("pear\napple\n");
  console.log(`sorted: ${stdout.trim().split("\n")}`);
} finally {
  await client.close();
  await rm(folder, { recursive: true });
}
