// Sessions with the real server: turns, tools, approvals, questions, keys, errors, attaching, a WebSocket.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import {
  CannotConnect,
  image,
  InUse,
  InvalidParams,
  NoModel,
  NoSuchMethod,
  NoSuchProcess,
  NoSuchSession,
  Refused,
  RpcError,
  tool,
  Toolgate,
  Unusable,
} from "toolgate";
import {
  BINARY,
  begun,
  call,
  deferred,
  first,
  message,
  PACKAGE,
  run,
  SocketServer,
  untilEvent,
  world,
} from "./support.mjs";

const WRITES = { cmd: "echo yes >> said.txt" };
const ASKS = { sandbox: "workspace-write", approval: "untrusted" };

const weather = tool({
  name: "weather",
  description: "Says how the weather is.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  readOnly: true,
  run({ city }, { turn_id }) {
    if (city === "Atlantis") throw new RangeError(`unknown city ${city}`);
    return `sun in ${city} for ${turn_id}`;
  },
});

/** Closes a session and returns all its events, whose cursors have no gaps from 1 on. */
async function told(session) {
  await session.close();
  const events = [];
  for await (const event of session.events()) events.push(event);
  assert.deepEqual(
    events.map(({ cursor }) => cursor),
    events.map((_, index) => index + 1),
  );
  return events;
}

/** Collects the warnings of a test. */
function warnings(t) {
  const seen = [];
  const note = (warning) => seen.push(`${warning.name}: ${warning.message}`);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  return seen;
}

test("a model calls a tool of this program; the text of an error reaches the model", async (t) => {
  const here = world(t);
  const seen = warnings(t);
  const client = await here.start();
  const script = here.script(
    [call("weather", { city: "Lisbon" }), call("weather", { city: "Atlantis" })],
    [message("Sunny.")],
  );
  const deltas = [];
  const session = await client.session({
    cwd: here.work,
    model: { script },
    tools: [weather],
    onDelta: (delta) => deltas.push(delta),
  });
  assert.ok(session.details.tools.includes("weather"));
  const turn = session.prompt("how is it?");
  const kinds = [];
  for await (const event of turn) kinds.push(event.kind);
  const { ended, text, turn_id } = await turn.result;
  assert.deepEqual([ended, text], ["done", "Sunny."]);
  assert.deepEqual([kinds[0], kinds.at(-1)], ["prompt", "turn"]);
  const events = await told(session);
  const answers = events
    .filter(({ kind }) => kind === "answered")
    .map((event) => [event.success, event.error, event.text]);
  assert.deepEqual(answers, [
    [true, undefined, `sun in Lisbon for ${turn_id}`],
    [false, "io", "`weather`: RangeError: unknown city Atlantis"],
  ]);
  assert.deepEqual(
    events.filter(({ kind, text }) => kind === "said" && text).map((event) => event.text),
    ["Sunny."],
  );
  assert.equal(events.at(-1).kind, "end");
  assert.equal(
    deltas
      .filter(({ kind }) => kind === "text")
      .map(({ text }) => text)
      .join(""),
    "Sunny.",
  );
  assert.equal(seen.length, 1);
  const warning = "ToolgateWarning: the tool `weather` threw an error, which the model gets";
  const says = `${warning}: RangeError: unknown city Atlantis`;
  assert.match(seen[0].slice(says.length), /^ \(file:.*sessions\.test\.mjs:\d+:\d+\)$/);
  assert.ok(seen[0].startsWith(says));
});

test("a turn has the events from its prompt to its end, whatever comes first", async (t) => {
  const { guest, session } = await begun(t);
  const turn = session.prompt("go");
  const request = await guest.expect("session/prompt");
  guest.event(2, "notice");
  guest.event(3, "prompt", { text: "go" });
  guest.event(4, "turn", { id: "t3", ended: "done" });
  guest.answer(request, { turn_id: "t3", ended: "done", text: "" });
  assert.deepEqual(await first(turn), [
    [3, "prompt"],
    [4, "turn"],
  ]);
  const next = session.prompt("go on");
  guest.answer(await guest.expect("session/prompt"), { turn_id: "t5", ended: "done", text: "" });
  await next.result;
  guest.event(5, "prompt", { text: "go on" });
  guest.event(6, "turn", { id: "t5", ended: "done" });
  guest.event(7, "notice");
  assert.deepEqual(await first(next), [
    [5, "prompt"],
    [6, "turn"],
  ]);
});

test("a tool that throws fails with its message, as in the Python client", async (t) => {
  const here = world(t);
  warnings(t);
  const client = await here.start();
  const throwing = (name, error) =>
    tool({ name, description: "Throws.", schema: { type: "object" }, run: () => Promise.reject(error) });
  const tools = [
    throwing("error", new Error("no such city")),
    throwing("bare", new TypeError()),
    throwing("text", "just text"),
  ];
  const session = await client.session({ cwd: here.work, tools });
  for (const [name, text] of [
    ["error", "Error: no such city"],
    ["bare", "TypeError"],
    ["text", "just text"],
  ]) {
    const answer = await session.call(name);
    assert.deepEqual([answer.success, answer.error, answer.text], [false, "io", `\`${name}\`: ${text}`]);
  }
});

test("the result of a tool becomes text, JSON or images", async (t) => {
  const { guest } = await begun(
    t,
    {},
    {
      tools: [tool({ name: "echo", description: "", schema: { type: "object" }, run: ({ value }) => values[value] })],
    },
  );
  warnings(t);
  const png = { type: "image", mime_type: "image/png", data: "AQI=" };
  const text = (text) => [{ type: "text", text }];
  const values = {
    text: "a",
    nothing: undefined,
    json: { a: [1, null] },
    image: image(new Uint8Array([1, 2])),
    list: ["a", image(new Uint8Array([1, 2]))],
    function: () => {},
    big: 1n,
  };
  const expected = {
    text: text("a"),
    nothing: text("done"),
    json: text('{"a":[1,null]}'),
    image: [png],
    list: [...text("a"), png],
  };
  for (const value of Object.keys(values)) {
    const params = { session_id: "s", call_id: "c", turn_id: "", tool: "echo", arguments: { value } };
    guest.tell({ id: value, method: "tool/invoke", params });
    const { id, result, error } = await guest.next();
    assert.deepEqual([id, result?.success ?? false], [value, value in expected]);
    if (value in expected) assert.deepEqual(result.content_items, expected[value]);
    else assert.match(error.message, /^TypeError: /);
  }
  guest.tell({ id: 1, method: "tool/invoke", params: { session_id: "s", tool: "gone", arguments: {} } });
  assert.deepEqual((await guest.next()).result, {
    content_items: text("the client no longer has a tool `gone`"),
    success: false,
  });
});

test("requests of the server are answered, also if they are cancelled or unknown", async (t) => {
  const never = tool({ name: "never", description: "", schema: { type: "object" }, run: () => new Promise(() => {}) });
  const big = tool({ name: "big", description: "", schema: { type: "object" }, run: () => "x".repeat(2 << 20) });
  const { guest } = await begun(t, {}, { tools: [never, big] });
  warnings(t);
  const invoke = (id, tool) =>
    guest.tell({
      id,
      method: "tool/invoke",
      params: { session_id: "s", call_id: "c", turn_id: "", tool, arguments: {} },
    });
  invoke(7, "never");
  guest.tell({ method: "$/cancel", params: { id: 7 } });
  invoke(8, "big");
  guest.tell({ id: 9, method: "approval/request", params: { session_id: "s", question: {} } });
  guest.tell({ id: 10, method: "user/ask", params: { session_id: "s", question: "?", options: [] } });
  guest.tell({ id: 11, method: "user/ask", params: { session_id: "other", question: "?", options: [] } });
  guest.tell({ id: 12, method: "user/sing", params: { session_id: "s" } });
  const codes = {};
  while (Object.keys(codes).length < 6) {
    const { id, error } = await guest.next();
    codes[id] = error.code;
  }
  assert.deepEqual(codes, { 7: -32800, 8: -32600, 9: -32009, 10: -32009, 11: -32001, 12: -32601 });
});

for (const [said, decision] of [
  [true, "approved"],
  [false, "denied"],
  ["approved_for_session", "approved_for_session"],
  [{ decision: "denied", note: "use git" }, "denied"],
]) {
  test(`an approval is decided: ${JSON.stringify(said)}`, async (t) => {
    const here = world(t);
    const client = await here.start();
    const asked = [];
    const session = await client.session({
      cwd: here.work,
      ...ASKS,
      onApproval: async (approval) => (asked.push(approval), said),
    });
    const answer = await session.call("exec_command", WRITES);
    const isApproved = decision !== "denied";
    assert.deepEqual([answer.success, existsSync(join(here.work, "said.txt"))], [isApproved, isApproved]);
    const [{ command, tool, call_id, choices, agents }] = asked;
    assert.deepEqual([command, tool, call_id, agents], [WRITES.cmd, "exec_command", answer.call_id, []]);
    assert.ok(choices.includes("denied"));
    if (said.note) assert.match(answer.text, /use git/);
    const events = await told(session);
    assert.deepEqual(
      events.filter(({ kind }) => kind === "decided").map((event) => event.decision),
      [decision],
    );
  });
}

for (const [name, onApproval, says] of [
  ["no handler", undefined, /`exec_command` needs approval, and this program has no `onApproval` handler/],
  ["a handler that throws", () => assert.fail("no"), /the approval handler threw an error/],
  ["a handler that returns nonsense", () => "perhaps", /the approval handler threw an error/],
]) {
  test(`with ${name}, a call that needs approval is denied`, async (t) => {
    const here = world(t);
    const seen = warnings(t);
    const client = await here.start();
    const session = await client.session({ cwd: here.work, ...ASKS, onApproval });
    const answer = await session.call("exec_command", WRITES);
    assert.deepEqual([answer.success, answer.error], [false, "denied"]);
    assert.ok(!existsSync(join(here.work, "said.txt")));
    assert.match(seen.join(), says);
  });
}

test("a second client approves a call that the first does not", async (t) => {
  const here = world(t);
  warnings(t);
  const server = await SocketServer.start(here);
  const [one, two] = [await here.connect(server.socket), await here.connect(server.socket)];
  const session = await one.session({ cwd: here.work, ...ASKS });
  await two.attach(session.id, { onApproval: () => true });
  assert.ok((await session.call("exec_command", WRITES)).success);
});

test("the model asks a question", async (t) => {
  const here = world(t);
  const client = await here.start();
  const options = [
    { label: "blue", description: "as the sea" },
    { label: "red", description: "as blood" },
  ];
  const script = here.script(
    [call("request_user_input", { questions: [{ id: "colour", question: "Which colour?", options }] })],
    [message("Ok.")],
  );
  const asked = [];
  const onQuestion = (question) => (asked.push(question), question.options[0].label);
  const session = await client.session({ cwd: here.work, model: { script }, onQuestion });
  await session.prompt("paint").result;
  assert.deepEqual([asked[0].question, asked[0].options], ["Which colour?", options]);
  assert.match((await untilEvent(session, "answered")).text, /blue/);
});

test("a key makes a call happen once", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  const write = () => session.call("exec_command", WRITES, { key: "k" });
  const answers = [...(await Promise.all([write(), write(), write()])), await write()];
  assert.deepEqual(answers.map(({ repeated }) => repeated).sort(), [false, true, true, true]);
  assert.equal(readFileSync(join(here.work, "said.txt"), "utf8"), "yes\n");
});

test("tools come and go", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work });
  assert.deepEqual(await session.register([weather]), ["weather"]);
  const described = (await session.listTools()).find(({ name }) => name === "weather");
  assert.equal(described.description, "Says how the weather is.");
  assert.equal((await session.call("weather", { city: "Oslo" })).text, "sun in Oslo for ");
  assert.equal((await session.call("weather", { town: "Oslo" })).success, false);
  assert.deepEqual(await session.unregister(["weather"]), []);
  assert.ok(!(await session.listTools()).some(({ name }) => name === "weather"));
  await assert.rejects(session.register([{ ...weather, name: "not a name" }]), RpcError);
  await assert.rejects(
    session.register([{ name: "x", description: "", schema: { type: "object" } }]),
    /the tool `x` has no `run`/,
  );
});

test("a turn is steered and interrupted", async (t) => {
  const here = world(t);
  const waits = deferred();
  const wait = tool({
    name: "wait",
    description: "Waits.",
    schema: { type: "object" },
    run: (_, { signal }) => (waits.resolve(signal), new Promise(() => {})),
  });
  const client = await here.start();
  const session = await client.session({
    cwd: here.work,
    model: { script: here.script([call("wait")]) },
    tools: [wait],
  });
  const turn = session.prompt("wait");
  const signal = await waits.promise;
  const added = session.prompt("and then");
  assert.equal((await added.result).ended, "steered");
  for await (const event of added) assert.notEqual(event.kind, "turn");
  await session.interrupt();
  assert.equal((await turn.result).ended, "interrupted");
  assert.ok(signal.aborted);
});

test("another program follows a session from a cursor", async (t) => {
  const here = world(t);
  const server = await SocketServer.start(here);
  const [one, two] = [await here.connect(server.socket), await here.connect(server.socket)];
  const session = await one.session({ cwd: here.work });
  await session.call("list_dir", { path: "." });
  await session.detach();
  // A session that was left on purpose goes on.
  await session[Symbol.asyncDispose]();
  const listed = await two.sessions({ live: true });
  assert.deepEqual(
    listed.map(({ session_id, calls }) => [session_id, calls]),
    [[session.id, 1]],
  );
  const again = await two.attach(session.id, { cursor: 1 });
  await assert.rejects(two.attach(session.id), /follows session .* already/);
  await again.call("list_dir", { path: "." });
  await again.close();
  const cursors = [];
  for await (const { cursor } of again.events()) cursors.push(cursor);
  assert.deepEqual(
    cursors,
    cursors.map((_, index) => index + 2),
  );
});

test("a session continues with the next server", async (t) => {
  const here = world(t);
  const script = here.script([message("Hello.")]);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, model: { script } });
  await session.prompt("hi").result;
  await client.close();
  const next = await here.start();
  const again = await next.attach(session.id, { cursor: session.cursor, model: { script } });
  assert.equal((await again.prompt("hi again").result).text, "Hello.");
});

test("each error of the server has a class and a reason", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "read-only", approval: "never" });
  const fails = async (promise, type, reason) => {
    const error = await promise.then(
      () => assert.fail(`no ${reason}`),
      (error) => error,
    );
    assert.ok(error instanceof type && error instanceof RpcError, String(error));
    assert.deepEqual([error.reason, error.name], [reason, type.name]);
    return error;
  };
  await fails(session.prompt("hi").result, NoModel, "no_model");
  await fails(client.attach("20200101-000000-aaaaaa"), NoSuchSession, "no_such_session");
  const missing = await fails(session.request("tool/lst", {}), NoSuchMethod, "no_such_method");
  assert.ok(missing.data.nearest.includes("tool/list"));
  await fails(session.request("tool/call", { tool: 1 }), InvalidParams, "invalid_params");
  await fails(session.request("process/kill", { process_id: 77 }), NoSuchProcess, "no_such_process");
  await fails(client.session({ cwd: join(here.work, "none") }), Unusable, "unusable");
  const refused = await fails(session.writeFile("no.txt", "no"), Refused, "refused");
  assert.equal(refused.code, -32008);
  assert.ok(refused.data.error);
  const server = await SocketServer.start(here);
  const other = await here.connect(server.socket);
  await fails(other.attach(session.id), InUse, "in_use");
});

test("a WebSocket works with its token", async (t) => {
  const here = world(t);
  const token = "a-token-for-tests-0123456789-abcdefgh";
  const server = spawn(BINARY, ["serve", "--websocket", "127.0.0.1:0", "--token-env", "TOKEN"], {
    env: { ...process.env, ...here.env, TOKEN: token },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(server, "exit");
  here.closing.push(() => (server.kill("SIGKILL"), exited));
  const [line] = await once(createInterface({ input: server.stderr }), "line");
  const url = line.split(" ").at(-1);
  if (globalThis.WebSocket === undefined) {
    await assert.rejects(
      Toolgate.connect({ websocket: url, token }),
      (error) => error instanceof CannotConnect && /Node 22/.test(error.message),
    );
  }
  // Node 20 has a WebSocket only with this flag.
  const client = await run(
    process.execPath,
    ["--experimental-websocket", join(PACKAGE, "tests/websocket-client.mjs"), url, token, server.pid],
    { cwd: here.work },
  );
  assert.deepEqual(
    JSON.parse(client.out || "{}"),
    { success: true, wrongToken: "cannot_connect", killed: "connection_lost" },
    client.err,
  );
});
