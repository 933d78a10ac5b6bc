// The package and docs/openrpc.json agree: generated types, methods, parameters, error codes, modes, versions.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RpcError, tool, Toolgate, VERSION } from "toolgate";
import { expected, generate } from "../scripts/generate-protocol.mjs";
import { call, DETAILS, fakeServer, message, PACKAGE, world } from "./support.mjs";

const read = (...path) => readFileSync(join(PACKAGE, ...path), "utf8");
const CONTRACT = JSON.parse(read("../../docs/openrpc.json"));
const { schemas, errors } = CONTRACT.components;
const SOURCES = readdirSync(join(PACKAGE, "src")).filter((name) => name !== "protocol.ts");

test("src/protocol.ts is up to date, and follows the description", () => {
  assert.equal(read("src/protocol.ts"), expected(), "run `npm run generate`");
  const changed = structuredClone(CONTRACT);
  changed.components.schemas.FsReadResult.properties.mode = { type: ["integer", "null"], description: "The mode." };
  assert.match(generate(changed), /The mode. \*\/\n  mode\?: number \| null;/);
  changed.components.schemas.FsReadResult.properties.mode = { type: "rope" };
  assert.throws(() => generate(changed), /unknown type/);
});

test("every method is used, and no other", () => {
  const source = SOURCES.map((name) => read("src", name)).join("");
  const used = new Set(
    source.match(/"(?:(?:session|tool|process|fs|patch|policy|approval|user|\$)\/[a-z]+|initialize)"/g),
  );
  const known = CONTRACT.methods.map(({ name }) => `"${name}"`);
  assert.deepEqual([...used].sort(), known.sort());
});

test("every error code has a class, a reason and a row in the README", () => {
  const answers = [1, { error: "forbidden" }];
  for (const [code, data] of Object.values(errors).flatMap(({ code }) => answers.map((data) => [code, data]))) {
    const error = RpcError.of(code, "m", data);
    assert.notEqual(error.constructor, RpcError, `no class for ${code}`);
    assert.ok(read("README.md").includes(`| \`${error.name}\` | \`${error.reason}\` |`), `no row for ${error.name}`);
  }
  const unknown = RpcError.of(-1, "m");
  assert.deepEqual([unknown.constructor, unknown.reason], [RpcError, "rpc_error"]);
});

/** Returns the kinds of events of src/event-types.ts, each with the source of its members. */
function eventKinds() {
  const source = read("src/event-types.ts").match(/type EventMembers = \{\n([^]*?)\n\};/)[1];
  const members = source.split(/^  \/\*\* .* \*\/\n/m).slice(1);
  return Object.fromEntries(members.map((text) => [text.match(/\w+/)[0], text.slice(text.indexOf(":"))]));
}

test("every kind of event has a type with all its members", async (t) => {
  const journal = read("../../docs/journal.md");
  const kinds = eventKinds();
  const listed = [...journal.split("## The kinds")[1].matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
  assert.deepEqual(Object.keys(kinds).sort(), listed.sort());
  const here = world(t);
  const client = await here.start();
  const script = here.script([call("exec_command", { cmd: "echo a > b" }), call("none")], [message("Done.")]);
  const session = await client.session({ cwd: here.work, model: { script }, approval: "never" });
  await session.prompt("hi").result;
  await session.close();
  const events = journal.match(/^\{"kind":.*$/gm).map((line) => JSON.parse(line));
  for await (const { cursor, seq, at, hash, ...event } of session.events()) {
    assert.deepEqual([cursor, typeof at, hash.length], [seq, "string", 64]);
    events.push(event);
  }
  const shared = { kept: ["path", "sha256", "bytes"], session: ["cwd", "sandbox", "approval"] };
  for (const { kind, ...members } of events) {
    for (const name of Object.keys(members)) {
      const isTyped = shared[kind]?.includes(name) || new RegExp(`\\b${name}\\??:`).test(kinds[kind]);
      assert.ok(isTyped, `\`${kind}\` has no \`${name}\``);
    }
  }
});

test("every decision and every kind of error is known", () => {
  const decisions = read("src/approvals.ts").match(/type Decision = (.*);/)[1].match(/[a-z_]+/g);
  const { description } = schemas.ApprovalRequestResult.properties.decision;
  assert.deepEqual(decisions, description.match(/(?<=`)[a-z_]+(?=`)/g).slice(1));
  const source = read("../../crates/tool/src/error.rs").match(/fn as_str\(self\)[^]*?\n    \}\n/)[0];
  const kinds = read("src/event-types.ts").match(/type ToolErrorKind =([^]*?);/)[1].match(/(?<=")\w+(?=")/g);
  assert.deepEqual(kinds, source.match(/(?<=")\w+(?=")/g));
});

test("every sandbox mode and approval policy is known", () => {
  const types = { sandbox: "SandboxMode", approval: "ApprovalPolicy" };
  for (const [member, type] of Object.entries(types)) {
    const known = read("src/session.ts")
      .match(new RegExp(`type ${type} = (.*);`))[1]
      .match(/[a-z-]+/g);
    assert.deepEqual(known, schemas.SessionStartParams.properties[member].description.match(/(?<=`)[a-z-]+(?=`)/g));
  }
});

test("the version is that of package.json, and the lock file names no host", () => {
  assert.equal(VERSION, JSON.parse(read("package.json")).version);
  assert.doesNotMatch(read("package-lock.json"), /https?:|registry|resolved/);
});

const RESULTS = {
  initialize: { protocol: 1, server: { name: "fake" }, limits: { message_bytes: 1 << 20 } },
  "session/start": DETAILS,
  "session/attach": { ...DETAILS, session_id: "other", resumed: true, busy: false, cursor: 9 },
  "session/prompt": { turn_id: "t", ended: "done", text: "" },
  "session/list": { sessions: [] },
  "tool/call": { call_id: "c", success: true, content_items: [] },
  "process/start": { process_id: 1 },
  "process/read": { pieces: [], next: 0, state: "running" },
  "fs/read": { text: "", size: 0 },
};

/** Calls every method of the client with every parameter. */
async function callEverything(client) {
  const tools = [
    tool({ name: "t", description: "d", schema: { type: "object" }, readOnly: true, timeoutMs: 1, run: () => "" }),
  ];
  const model = { name: "n", wire: "chat", base_url: "u", script: "s", context: 1, max_turns: 1, max_tokens: 1 };
  const start = {
    cwd: "/",
    sandbox: "read-only",
    approval: "never",
    instructions: "i",
    agents: true,
    mcp_servers: {},
    only_tools: [],
    model,
  };
  const handlers = { tools, onApproval: () => true, onQuestion: () => "", onDelta() {}, keepEvents: 9 };
  const limits = { signal: new AbortController().signal, timeoutMs: 10_000 };
  const session = await client.session({ ...start, ...handlers }, limits);
  const other = await client.attach("other", { cursor: 9, ...start, ...handlers }, limits);
  await client.sessions({ limit: 1, live: true, ...limits });
  await session.prompt("p", { images: [{ type: "image", mime_type: "image/png", data: "" }], ...limits }).result;
  await session.interrupt(limits);
  await session.call("t", { a: 1 }, { key: "k", input: "i", ...limits });
  await session.listTools(limits);
  await session.register(tools, limits);
  await session.unregister(["t"], limits);
  await session.startProcess(["c"], { cwd: "/", tty: { rows: 1, cols: 2 }, stdin: true, ...limits });
  const process = await session.startProcess("c");
  await process.read(limits);
  await process.write("t", { close: true, ...limits });
  await process.resize(1, 2);
  await process.signal("INT");
  await process.kill();
  await session.readFile("f", { offset: 1, length: 1, ...limits });
  await session.writeFile("f", "t", { new: true, ...limits });
  await session.writeFile("f", new Uint8Array(1));
  await session.listDir("d", { depth: 1, limit: 1, ...limits });
  await session.search("p", { path: "d", glob: "g", ignore_case: true, limit: 1, ...limits });
  await session.applyPatch("p", { key: "k", ...limits });
  await session.explain("c", limits);
  await session.explain({ tool: "t", arguments: { a: 1 } });
  await other.detach(limits);
  await session.close(limits);
}

/** Returns the paths of members that a schema does not have. */
function unknownMembers(value, schema, at) {
  if (schema.$ref) return unknownMembers(value, schemas[schema.$ref.split("/").at(-1)], at);
  if (Array.isArray(value)) return value.flatMap((each) => unknownMembers(each, schema.items ?? {}, `${at}[]`));
  const branches = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (branches.length)
    return branches.map((each) => unknownMembers(value, each, at)).sort((a, b) => a.length - b.length)[0];
  if (value === null || typeof value !== "object" || !schema.properties) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const known = schema.properties[name];
    return known ? unknownMembers(each, known, `${at}.${name}`) : [`${at}.${name}`];
  });
}

test("the client sends every method, and only members that the server knows", async (t) => {
  const here = world(t);
  const fake = await fakeServer(here);
  const connecting = Toolgate.connect({ socket: fake.path });
  const guest = await fake.guest();
  const heard = [];
  void (async () => {
    for (;;) {
      const message = await guest.next();
      heard.push(message);
      if (message.id !== undefined) guest.answer(message, RESULTS[message.method] ?? { tools: [], explanation: {} });
    }
  })();
  const client = await connecting;
  here.closing.push(() => client.close());
  const done = callEverything(client);
  await done;
  const methods = new Map(CONTRACT.methods.map((method) => [method.name, method]));
  const sent = CONTRACT.methods.filter((method) => method["x-answered-by"] === "server").map(({ name }) => name);
  assert.deepEqual([...new Set(heard.map(({ method }) => method))].sort(), sent.sort());
  for (const { method, params } of heard) {
    const properties = Object.fromEntries(methods.get(method).params.map((param) => [param.name, param.schema]));
    assert.deepEqual(unknownMembers(params, { properties }, method), []);
  }
});
