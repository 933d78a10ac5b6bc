// Mistakes of programs get one clear sentence: unknown options, wrong types, incomplete tools, wrong servers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CannotConnect, Toolgate, tool } from "toolgate";
import { world } from "./support.mjs";

/** Asserts that each function fails with a `TypeError` of this message. */
async function allFail(rows) {
  for (const [run, message] of rows) {
    await assert.rejects(async () => run(), { name: "TypeError", message }, String(run));
  }
}

test("unknown options and wrong types are rejected, and the nearest name is suggested", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  const cat = await session.startProcess("cat", { stdin: true });
  const cycle = {};
  cycle.cycle = cycle;
  const mustBe = (name, place, rest) => `\`${name}\` of \`${place}\` must be ${rest}`;
  const near = (place, wrong, right) => `\`${place}\` has no option \`${wrong}\`; did you mean \`${right}\`?`;
  await allFail([
    [() => client.session({ onApprove: () => true }), near("client.session", "onApprove", "onApproval")],
    [() => client.session({ onApproval: true }), "`onApproval` of `client.session` must be a function, not true"],
    [() => client.session({ sandBox: "read-only" }), near("client.session", "sandBox", "sandbox")],
    [() => client.session({ keepEvents: NaN }), "`keepEvents` of `client.session` must be a number, not NaN"],
    [() => client.session({}, { timeout: 5 }), /^the second argument of `client.session` has no option `timeout`/],
    [() => client.session("x"), '`client.session` takes an object of options, not "x"'],
    [() => client.attach(session.id, { curser: 1 }), near("client.attach", "curser", "cursor")],
    [() => client.sessions({ limit: "5" }), '`limit` of `client.sessions` must be a number or null, not "5"'],
    [() => session.call("t", {}, { timeoutMs: "5s" }), mustBe("timeoutMs", "session.call", 'a number, not "5s"')],
    [() => session.call("list_dir", [1]), "`arguments` of `session.call` must be an object, not an array"],
    [() => session.call("list_dir", {}, { timeoutMS: 5 }), near("session.call", "timeoutMS", "timeoutMs")],
    [() => session.readFile("a", { ofset: 1 }), near("session.readFile", "ofset", "offset")],
    [() => session.readFile(5), "`path` of `session.readFile` must be a string, not 5"],
    [() => session.writeFile("a", 5), "`data` of `session.writeFile` must be a string or a Uint8Array, not 5"],
    [() => session.search("a", { ignoreCase: true }), near("session.search", "ignoreCase", "ignore_case")],
    [() => session.call("list_dir", { depth: 1n }), /^the arguments have no JSON form: .*BigInt$/],
    [() => session.call("list_dir", cycle), /^the arguments have no JSON form: it has a cycle$/],
    [() => session.startProcess(), "`command` of `session.startProcess` is missing; it must be a string or an array"],
    [() => session.prompt(), "`text` of `session.prompt` is missing; it must be a string"],
    [() => session.call(), "`tool` of `session.call` is missing; it must be a string"],
    [() => session.readFile(), "`path` of `session.readFile` is missing; it must be a string"],
    [() => session.writeFile("a"), "`data` of `session.writeFile` is missing; it must be a string or a Uint8Array"],
    [() => session.search(), "`pattern` of `session.search` is missing; it must be a string"],
    [() => session.applyPatch(), "`patch` of `session.applyPatch` is missing; it must be a string"],
    [() => session.startProcess("a", { sdtin: true }), near("session.startProcess", "sdtin", "stdin")],
    [() => session.prompt("a", { signal: 1 }), "`signal` of `session.prompt` must be an AbortSignal, not 1"],
    [() => session.listTools({ verbose: true }), / has no option `verbose`; it has `signal`, `timeoutMs`$/],
    [() => cat.write("a", { end: true }), /^`process.write` has no option `end`; it has `close`,/],
    [() => Toolgate.start({ reconect: true }), near("Toolgate.start", "reconect", "reconnect")],
    [() => Toolgate.start({ reconnect: { within: 1 } }), near("reconnect", "within", "withinMs")],
    [() => Toolgate.start({ args: "serve" }), '`args` of `Toolgate.start` must be an array, not "serve"'],
  ]);
  // Null is a value of the protocol, and an undefined option counts as missing. A long time limit is no short one.
  await client.session({ cwd: here.work, model: null, onApproval: undefined });
  await session.listTools({ timeoutMs: 1e12 });
});

test("a tool that cannot be used is rejected where it is defined", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work });
  const complete = { name: "x", description: "d", schema: { type: "object" }, run: () => "" };
  const noSchema = 'the tool `x` has no `schema`; it is the JSON Schema of the arguments: { type: "object" } for any';
  await allFail([
    [() => tool({ ...complete, schema: undefined }), noSchema],
    [() => client.session({ tools: [{ ...complete, schema: undefined }] }), noSchema],
    [() => session.register([{ ...complete, schema: undefined }]), noSchema],
    [() => tool({ ...complete, readonly: true }), "the tool `x` has no option `readonly`; did you mean `readOnly`?"],
    [() => tool({ ...complete, timeoutMs: "5s" }), '`timeoutMs` of the tool `x` must be a number, not "5s"'],
    [() => tool({ ...complete, name: undefined }), "a tool has no `name`; the model calls it by its name"],
    [() => session.register([undefined]), "a tool must be an object, not null"],
  ]);
  class Counter {
    name = "count";
    description = "Counts.";
    schema = { type: "object" };
    total = 0;
    run = () => ++this.total;
  }
  await session.register([new Counter()]);
  assert.equal((await session.call("count")).text, "1");
});

test("an address and a program that are none get one sentence", async (t) => {
  const here = world(t);
  const address = "`Toolgate.connect` takes { socket: PATH } or { websocket: URL, token: TOKEN }, and options";
  await allFail([
    [() => Toolgate.connect(), address],
    [() => Toolgate.connect({}), address],
    [() => Toolgate.connect("/tmp/s"), address],
    [() => Toolgate.connect({ websocket: "ws://127.0.0.1:1" }), address],
    [() => Toolgate.connect({ socket: "/tmp/s", websocket: "ws://127.0.0.1:1", token: "t" }), address],
    [
      () => Toolgate.connect({ socket: "/tmp/s", reconect: true }),
      "`Toolgate.connect` has no option `reconect`; did you mean `reconnect`?",
    ],
    [
      () => Toolgate.connect({ socket: "/tmp/s" }, { socket: "/tmp/s" }),
      /^the second argument of `Toolgate.connect` has no option `socket`/,
    ],
  ]);
  const other = `read _; echo '{"id":1,"result":{}}'; cat`;
  for (const [options, message] of [
    [{ command: "/bin/cat", args: [] }, /^`\/bin\/cat` is not a Toolgate server: it sent `\{"jsonrpc"/],
    [{ command: "/bin/cat", stderr: "ignore" }, /`\/bin\/cat serve` ended with exit status 1 before .*, and check that it is Toolgate$/],
    [{ command: "/bin/echo" }, /^`\/bin\/echo serve` is not a Toolgate server: it sent `serve`$/],
    [{ command: "sh", args: ["-c", other] }, /is not a Toolgate server: it answered `initialize` without limits$/],
  ]) {
    const starting = Toolgate.start({ cwd: here.work, reconnect: true, ...options });
    await assert.rejects(starting, (error) => {
      assert.match(error.message, message);
      return error instanceof CannotConnect;
    });
  }
});

test("a client tries to connect for all of `withinMs`", async (t) => {
  const here = world(t);
  const [socket, reconnect] = [`${here.root}/none`, { withinMs: 700 }];
  for (const args of [[{ socket }, { reconnect }], [{ socket, reconnect }]]) {
    const start = performance.now();
    await assert.rejects(Toolgate.connect(...args), {
      message: /^no server answered within 700 ms: there is no socket/,
    });
    const took = performance.now() - start;
    assert.ok(took >= 700 && took < 2000, `${took} ms`);
  }
});
