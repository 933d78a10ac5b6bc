// A scripted model calls a tool of this program: `node examples/dynamic-tool.mjs`.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Toolgate, tool } from "toolgate";

const SCRIPT = `\
{"items": [{"type": "function_call", "name": "temperature", "arguments": {"city": "Lisbon"}}]}
{"items": [{"type": "message", "text": "It is warm in Lisbon."}]}
`;

const temperature = tool({
  name: "temperature",
  description: "Says how warm it is in a city.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  readOnly: true,
  run({ city }) {
    console.log(`the tool is called for ${city}`);
    return `21 degrees in ${city}`;
  },
});

const folder = await mkdtemp(join(tmpdir(), "toolgate-example-"));
await writeFile(join(folder, "script.jsonl"), SCRIPT);
const client = await Toolgate.start();
try {
  const model = { script: join(folder, "script.jsonl") };
  const session = await client.session({ cwd: folder, model, tools: [temperature] });
  const { ended, text } = await session.prompt("How warm is it in Lisbon?").throwUnlessDone();
  console.log(`the turn is ${ended}; the model says: ${text}`);
} finally {
  await client.close();
  await rm(folder, { recursive: true });
}
