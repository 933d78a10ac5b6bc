// This program decides about each command that needs approval: `node examples/approval.mjs`.

import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Toolgate } from "toolgate";

const folder = await mkdtemp(join(tmpdir(), "toolgate-example-"));
const client = await Toolgate.start();
try {
  const session = await client.session({
    cwd: folder,
    sandbox: "workspace-write",
    approval: "untrusted",
    onApproval({ tool, command, why }) {
      const isHarmless = command?.startsWith("touch ");
      console.log(`${tool} asks for \`${command}\`, because ${why[0]}: ${isHarmless ? "approved" : "denied"}`);
      return isHarmless || { decision: "denied", note: "Only `touch` is allowed." };
    },
  });
  for (const cmd of ["touch kept.txt", "rm -rf kept.txt"]) {
    const { success, error } = await session.call("exec_command", { cmd });
    console.log(`${cmd}: ${success ? "done" : error}`);
  }
  await access(join(folder, "kept.txt"));
  console.log("kept.txt is still there");
} finally {
  await client.close();
  await rm(folder, { recursive: true });
}
