// Registers a tool that a scripted model calls: `TOOLGATE=path/to/toolgate node example.mjs`.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "./client.mjs";

const directory = mkdtempSync(join(tmpdir(), "toolgate-example-"));
const script = join(directory, "turns.jsonl");
const turns = [
  { items: [{ type: "function_call", name: "weather", arguments: { city: "Oslo" } }] },
  { items: [{ type: "message", text: "It rains; take a coat." }] },
];
writeFileSync(script, turns.map((turn) => JSON.stringify(turn) + "\n").join(""));

const weather = {
  name: "weather",
  description: "Returns the weather in a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const client = await Client.start({
  binary: process.env.TOOLGATE ?? "toolgate",
  asked: {
    "tool/invoke": ({ arguments: { city } }) => ({ content_items: [{ type: "text", text: `rain in ${city}` }], success: true }),
  },
  told: (method, { event }) => {
    if (method === "session/event" && event.kind === "answered") console.log(`the tool said: ${event.text}`);
  },
});
const { session_id } = await client.request("session/start", { cwd: directory, model: { script }, tools: [weather] });
const { text } = await client.request("session/prompt", { session_id, text: "What should I wear in Oslo?" });
console.log(`the model said: ${text}`);
await client.close();
