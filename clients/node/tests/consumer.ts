// Program of the package test: uses the installed package with strict types, and prints what it gets.

import {
  type Approval, type CommandResult, ConnectionLost, type OnApproval, type Session, type SessionEvent,
  type SessionPromptResult, Toolgate, tool, type Turn, type UnknownEvent,
} from "toolgate";

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

/** The types of the arguments for more of JSON Schema. */
const typed = tool({
  name: "typed",
  description: "Has many types.",
  schema: {
    type: "object",
    properties: {
      nullable: { type: ["string", "null"] },
      list: { type: ["array", "null"], items: { type: "integer" } },
      either: {
        anyOf: [{ type: "string" }, { type: "object", properties: { id: { type: "number" } }, required: ["id"] }],
      },
      counts: { oneOf: [{ type: "object", additionalProperties: { type: "number" } }] },
      closed: { type: "object", properties: { a: { type: "boolean" } }, additionalProperties: false },
      open: { type: "object", properties: { a: { type: "boolean" } }, additionalProperties: { type: "string" } },
      any: { type: "object" },
      items: { type: "array" },
    },
    required: ["nullable", "list", "either", "counts", "closed", "open", "any", "items"],
    anyOf: [{ required: ["nullable"] }],
    additionalProperties: false,
  },
  run({ nullable, list, either, counts, closed, open, any, items }) {
    const id: number = typeof either === "string" ? either.length : either.id;
    const types: [string | null, number[] | null, number | undefined] = [nullable, list, counts["a"]];
    const more: [boolean | undefined, boolean | undefined, string | undefined] = [closed.a, open.a, open["b"]];
    const loose: [unknown, unknown[]] = [any["x"], items];
    // @ts-expect-error: may be null
    const wrong: string = nullable;
    // @ts-expect-error: no such property
    const none = () => closed.b;
    return { id, types, more, loose, wrong, none };
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

/** Reads members that only one kind of event has. */
function summary(event: SessionEvent): string {
  const { kind, text } = event;
  // @ts-expect-error: not every event has a tool
  const wrong = () => event.tool;
  switch (event.kind) {
    case "call":
      return `${event.tool} ${event.arguments}`;
    case "answered": {
      const ms: number = event.took_ms;
      return event.success ? `${ms}` : `${event.error}: ${event.text}`;
    }
    case "usage":
      return `${event.input_tokens + event.output_tokens}`;
    case "turn":
      return event.ended === "done" ? event.id : `${event.detail}`;
    case "session": case "prompt": case "said": case "intent": case "verdict": case "asked": case "decided":
    case "attempt": case "kept": case "plan": case "diff": case "compacted": case "agent": case "added":
    case "interrupted": case "notice": case "end":
      return `${kind} ${text ?? ""} ${wrong}`;
    default: {
      const unknown: UnknownEvent = event;
      return unknown.kind;
    }
  }
}
const isNew = (event: UnknownEvent): boolean => event.kind === "kind-of-next-year" && event["member"] === 1;
// @ts-expect-error: not a decision
const wrongDecision: OnApproval = () => "aproved";
const rightDecision: OnApproval = async ({ choices }) =>
  choices.find((each) => each === "approved_for_session") ?? { decision: "denied", note: "no" };

const prompting = async (session: Session): Promise<[string, string | null | undefined]> => {
  const turn: Turn = session.prompt("a");
  for await (const { kind } of turn) console.log(kind);
  const { ended, detail }: SessionPromptResult = await turn;
  const { text }: SessionPromptResult = await session.prompt("b").throwUnlessDone();
  const caught: SessionPromptResult | string = await session.prompt("c").catch(() => "failed");
  // @ts-expect-error: a result is not text
  const wrong: string = await session.prompt("d");
  return [ended + text + String(caught) + wrong, detail];
};

const onApproval = ({ command, choices }: Approval): boolean => command !== null && choices.includes("approved");
await using session = await client.session({
  sandbox: "workspace-write",
  approval: "never",
  tools: [forecast, typed],
  onApproval,
});
const { success, text, elapsed_ms } = await session.call("forecast", { city: "Oslo", hours: [1, 2] });
const elapsed: number = elapsed_ms;
const { structured, error } = await session.call("exec_command", { cmd: "echo out" });
const command: CommandResult | undefined = structured;
const streams = [structured?.stdout, command?.exit_code, error === "forbidden"];
await using sleeping = await session.startProcess("sleep 60");
const kinds: string[] = [];
const summaries: string[] = [];
for await (const event of session.events()) {
  const { cursor, kind } = event;
  summaries.push(isNew(event) ? "new" : summary(event));
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
    summaries,
    streams,
    described,
    types: [rightDecision, wrongDecision, wrongMode, wrongMethod, wrongParams, wrongModel].length,
    more: [elapsed, lost, prompting].length,
  }),
);
