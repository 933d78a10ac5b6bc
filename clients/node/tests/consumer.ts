// Program of the package test: uses the installed package with strict types, and prints what it gets.

import { type Approval, ConnectionLost, type SessionEvent, Toolgate, tool } from "toolgate";

const forecast = tool({
  name: "forecast",
  description: "Says how the weather will be.",
  schema: {
    type: "object",
    properties: {
      city: { type: "string" },
      days: { type: "integer" },
      unit: { enum: ["C", "F"] },
      hours: { type: "array", items: { type: "number" } },
    },
    required: ["city", "hours"],
  },
  run({ city, days, unit, hours }, { signal, turn_id }) {
    const types: [string, number | undefined, "C" | "F" | undefined, number[], boolean, string] = [
      city,
      days,
      unit,
      hours,
      signal.aborted,
      turn_id,
    ];
    // @ts-expect-error: an optional argument may be missing
    const wrong: number = days;
    return { types, wrong };
  },
});

await using client = await Toolgate.start({ reconnect: { withinMs: 1000 }, timeoutMs: 60_000 });
// @ts-expect-error: not a sandbox mode
const wrongMode = () => client.session({ sandbox: "none-such" });
// @ts-expect-error: not a method
const wrongMethod = () => client.request("session/lst", {});
// @ts-expect-error: a missing parameter
const wrongParams = () => client.request("session/close", {});
// @ts-expect-error: not a member of a model
const wrongModel = () => client.session({ model: { url: "" } });

const onApproval = ({ command, choices }: Approval): boolean => command !== null && choices.includes("approved");
await using session = await client.session({
  sandbox: "workspace-write",
  approval: "never",
  tools: [forecast],
  onApproval,
});
const { success, text, elapsed_ms } = await session.call("forecast", { city: "Oslo", hours: [1, 2] });
const elapsed: number = elapsed_ms;
await using sleeping = await session.startProcess("sleep 60");
const kinds: string[] = [];
for await (const event of session.events()) {
  const { cursor, kind }: SessionEvent = event;
  kinds.push(kind);
  if (cursor === 2) break;
}
const { tools } = await session.request("tool/list", {});
const described: string | undefined = tools.find(({ name }) => name === "forecast")?.description;
const lost: Promise<boolean> = client.closed.then((error) => error instanceof ConnectionLost);
console.log(
  JSON.stringify({
    success,
    text,
    kinds,
    described,
    types: [wrongMode, wrongMethod, wrongParams, wrongModel, elapsed, lost, sleeping.id].length,
  }),
);
