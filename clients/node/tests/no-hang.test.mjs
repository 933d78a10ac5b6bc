// Every request settles: when the server dies, the stream breaks, the client closes, a signal aborts, or time is up.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Aborted, CannotConnect, Closed, ConnectionLost, ProtocolError, TimedOut, Toolgate, tool } from "toolgate";
import { Connection } from "../dist/connection.js";
import { begun, call, deferred, fakeServer, untilEvent, world } from "./support.mjs";

/** A tool that never answers, and a promise for its first call. */
function hangingTool() {
  const { promise, resolve } = deferred();
  const run = (_, call) => (resolve(call), new Promise(() => {}));
  return { called: promise, hang: tool({ name: "hang", description: "Hangs.", schema: { type: "object" }, run }) };
}

/** Starts everything that can wait, all in one session: a call, a turn, its events, all events, a process. */
async function busySession(here, client) {
  const { called, hang } = hangingTool();
  const model = { script: here.script([call("hang")]) };
  const session = await client.session({
    cwd: here.work,
    sandbox: "workspace-write",
    approval: "never",
    model,
    tools: [hang],
  });
  const process = await session.startProcess("cat", { stdin: true });
  const turn = session.prompt("hang");
  await called;
  const iterate = async (events) => {
    for await (const _ of events);
    return "ended";
  };
  const pending = {
    call: session.call("exec_command", { cmd: "sleep 60" }),
    result: turn.result,
    turn: iterate(turn),
    events: iterate(session.events()),
    read: iterate(process),
  };
  await untilEvent(session, "attempt", (event) => event.call.startsWith("key-"));
  return { session, pending };
}

test("a server killed in mid-request rejects everything that waits, and everything later", async (t) => {
  const here = world(t);
  const { client, pid } = await here.startWithPid();
  const { session, pending } = await busySession(here, client);
  process.kill(pid(), "SIGKILL");
  for (const [name, promise] of Object.entries(pending)) {
    await assert.rejects(
      promise,
      (error) => error instanceof ConnectionLost && error.reason === "connection_lost" && /SIGKILL/.test(error.message),
      name,
    );
  }
  assert.equal((await client.closed).reason, "connection_lost");
  await assert.rejects(client.sessions(), {
    name: "ConnectionLost",
    reason: "connection_lost",
    message: /was ended by SIGKILL/,
  });
  await assert.rejects(session.call("list_dir"), ConnectionLost);
  await assert.rejects(client.attach("other"), ConnectionLost);
  // Nothing to do any more, and no error.
  await session[Symbol.asyncDispose]();
});

test("closing the client rejects everything that waits, and ends the events", async (t) => {
  const here = world(t);
  const client = await here.start();
  const { pending } = await busySession(here, client);
  const settled = Object.entries(pending).map(async ([name, promise]) => [
    name,
    await promise.catch((error) => error.reason),
  ]);
  await client.close();
  const expected = { call: "closed", result: "closed", turn: "closed", events: "ended", read: "closed" };
  assert.deepEqual(Object.fromEntries(await Promise.all(settled)), expected);
  assert.ok((await client.closed) instanceof Closed);
  await client.close();
});

test("a request after close is rejected at once", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work });
  await client.close();
  const later = [
    () => client.sessions(),
    () => client.session(),
    () => client.attach(session.id),
    () => client.request("session/list", {}),
    () => session.call("list_dir"),
    () => session.prompt("hi").result,
    () => session.startProcess("true"),
    () => session.close(),
  ];
  for (const request of later) await assert.rejects(request(), { name: "Closed", reason: "closed" }, String(request));
});

for (const [name, line] of [
  ["a line that is not JSON", "{broken\n"],
  ["JSON that is no object", "null\n"],
  ["an event without params", '{"jsonrpc":"2.0","method":"session/event"}\n'],
  ["an error that names no request", '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}\n'],
]) {
  test(`${name} ends the connection, also with \`reconnect\``, async (t) => {
    const { client, session, guest } = await begun(t, { reconnect: true });
    const calling = session.call("list_dir");
    const turn = session.prompt("hi");
    await guest.expect("tool/call");
    guest.raw(line);
    for (const promise of [calling, turn.result, turn[Symbol.asyncIterator]().next()]) {
      await assert.rejects(promise, (error) => error instanceof ProtocolError && error.reason === "protocol_error");
    }
    await assert.rejects(client.sessions(), ProtocolError);
  });
}

test("a line that is too long ends the connection", async (t) => {
  const { session, guest } = await begun(t);
  const calling = session.call("list_dir");
  await guest.expect("tool/call");
  guest.raw("x".repeat(33 << 20));
  await assert.rejects(calling, { name: "ProtocolError", message: /more than 33554432 bytes/ });
});

test("a request on a connection that has just ended is rejected", async () => {
  const connection = new Connection({ ended() {} });
  connection.end(new ConnectionLost("gone"));
  await assert.rejects(connection.request("m", {}, new AbortController().signal), { message: "gone" });
});

test("a connection that ends within a line is lost", async (t) => {
  const { session, guest } = await begun(t);
  const calling = session.call("list_dir");
  const { id } = await guest.expect("tool/call");
  guest.raw(`{"jsonrpc":"2.0","id":${id},"result":{"success"`);
  guest.drop();
  await assert.rejects(calling, { name: "ConnectionLost", message: /fake.sock closed it/ });
});

test("a request that is never answered ends at its time limit", async (t) => {
  const { client, session, guest } = await begun(t, { timeoutMs: 50 });
  const limits = [
    [client.sessions(), "session/list", /`session\/list` took longer than 50 ms/],
    [session.call("list_dir", {}, { timeoutMs: 20 }), "tool/call", /`tool\/call` took longer than 20 ms/],
    [client.attach("other", {}, { timeoutMs: 20 }), "session/attach", /took longer than 20 ms/],
    // The client's own limit does not hold for prompts.
    [session.prompt("hi", { timeoutMs: 100 }).result, "session/prompt", /the turn took longer than 100 ms/],
  ];
  const settled = await Promise.allSettled(limits.map(([promise]) => promise));
  const sent = [];
  for (const [index, [, method, says]] of limits.entries()) {
    const { reason } = settled[index];
    assert.ok(reason instanceof TimedOut && says.test(reason.message), String(reason));
    sent.push(await guest.expect(method));
  }
  const cancelled = [];
  while (cancelled.length < 4) {
    const { method, params } = await guest.next();
    if (method === "$/cancel") cancelled.push(params.id);
  }
  assert.deepEqual(cancelled.sort(), sent.map(({ id }) => id).sort());
});

test("a server that does not answer `initialize` is given up and ended", async (t) => {
  const here = world(t);
  const silent = { command: "sh", args: ["-c", `cat > /dev/null # ${here.root}`] };
  await assert.rejects(Toolgate.start({ ...silent, timeoutMs: 50 }), TimedOut);
  await assert.rejects(Toolgate.start({ ...silent, signal: AbortSignal.timeout(50) }), Aborted);
  await assert.rejects(Toolgate.start({ ...silent, signal: AbortSignal.abort() }), Aborted);
  const fake = await fakeServer(here);
  await assert.rejects(Toolgate.connect({ socket: fake.path }, { timeoutMs: 50 }), TimedOut);
  const reconnect = { firstMs: 5, withinMs: 50 };
  await assert.rejects(Toolgate.connect({ socket: fake.path }, { reconnect }), {
    reason: "connection_lost",
    message: /within 50 ms/,
  });
});

test("a server that ignores the end of its input is killed", async (t) => {
  const here = world(t);
  const stubborn = `trap '' TERM HUP; while :; do sleep 1; done # ${here.root}`;
  await assert.rejects(
    Toolgate.start({ command: "sh", args: ["-c", stubborn], timeoutMs: 50, killAfterMs: 50 }),
    TimedOut,
  );
});

test("a server that closes its input but lives on is given up", async (t) => {
  const here = world(t);
  const welcome = JSON.stringify({ id: 1, result: { limits: { message_bytes: 1000 } } });
  const deaf = `read line; exec 0<&-; echo '${welcome}'; exec sleep 30 # ${here.root}`;
  const client = await here.start({ command: "sh", args: ["-c", deaf], killAfterMs: 50 });
  await assert.rejects(client.sessions(), { name: "ConnectionLost", message: /closed its input or output/ });
});

test("an aborted call is rejected at once, and its command is stopped", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  const controller = new AbortController();
  const calling = session.call(
    "exec_command",
    { cmd: "sleep 60", yield_time_ms: 30_000 },
    { signal: controller.signal },
  );
  await untilEvent(session, "attempt");
  const why = new Error("changed my mind");
  controller.abort(why);
  await assert.rejects(
    calling,
    (error) =>
      error instanceof Aborted && error.name === "AbortError" && error.reason === "aborted" && error.cause === why,
  );
  const answered = await untilEvent(session, "answered");
  assert.equal(answered.success, false);
  await assert.rejects(session.call("list_dir", {}, { signal: AbortSignal.abort() }), Aborted);
  assert.ok((await session.call("list_dir", { path: "." })).success);
});

test("an aborted prompt stops the turn", async (t) => {
  const here = world(t);
  const { called, hang } = hangingTool();
  const client = await here.start();
  const session = await client.session({
    cwd: here.work,
    model: { script: here.script([call("hang")]) },
    tools: [hang],
  });
  const controller = new AbortController();
  const turn = session.prompt("hang", { signal: controller.signal });
  const { signal } = await called;
  controller.abort();
  await assert.rejects(turn.result, Aborted);
  await assert.rejects(async () => {
    for await (const _ of turn);
  }, Aborted);
  assert.equal((await untilEvent(session, "turn")).ended, "interrupted");
  assert.ok(signal.aborted, "the tool learns that its call is cancelled");
});

test("a session or process whose start was aborted is ended when it comes", async (t) => {
  const { client, session, guest } = await begun(t);
  const controller = new AbortController();
  const { signal } = controller;
  const starting = [client.session({}, { signal }), session.startProcess("true", { signal })];
  const [start, process] = [await guest.expect("session/start"), await guest.expect("process/start")];
  controller.abort();
  for (const each of starting) await assert.rejects(each, Aborted);
  for (const _ of starting) await guest.expect("$/cancel");
  guest.answer(start, { session_id: "late" });
  guest.answer(process, { process_id: 7 });
  assert.equal((await guest.expect("session/close")).params.session_id, "late");
  assert.equal((await guest.expect("process/kill")).params.process_id, 7);
});

test("what cannot be sent is rejected, and the connection goes on", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write" });
  await assert.rejects(session.call("list_dir", { depth: 1n }), TypeError);
  await assert.rejects(session.call("list_dir", { path: "x".repeat(17 << 20) }), {
    name: "InvalidRequest",
    message: /at most 16777216 bytes/,
  });
  // A lone surrogate is no UTF-8, and the server could not name the request that has it.
  await session.writeFile("surrogate", "a\ud800b\\ud800");
  assert.equal((await session.readFile("surrogate")).text, "a\ufffdb\\ud800");
});

test("a hundred requests share a signal without a warning", async (t) => {
  const warnings = [];
  const note = (warning) => warnings.push(warning);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  const { session, guest } = await begun(t);
  const controller = new AbortController();
  const calls = Array.from({ length: 100 }, () => session.call("list_dir", {}, { signal: controller.signal }));
  for (const _ of calls) await guest.expect("tool/call");
  controller.abort();
  const settled = await Promise.allSettled(calls);
  assert.ok(settled.every(({ reason }) => reason instanceof Aborted));
  assert.deepEqual(warnings, []);
});

for (const [script, says] of [
  ["exit 3", /`sh -c exit 3` ended with exit status 3 before it answered; see its messages on standard error/],
  ["kill -9 $$", /was ended by SIGKILL before it answered/],
]) {
  test(`a program that ends at once says how: ${script}`, async () => {
    for (const reconnect of [false, true]) {
      await assert.rejects(Toolgate.start({ command: "sh", args: ["-c", script], reconnect }), (error) => {
        return error instanceof CannotConnect && !error.retryable && says.test(error.message);
      });
    }
  });
}

test("a socket without a server is named", async (t) => {
  const here = world(t);
  const none = join(here.root, "none");
  await assert.rejects(Toolgate.connect({ socket: none }), {
    name: "CannotConnect",
    retryable: true,
    message: `there is no socket ${none}; \`toolgate serve --socket ${none}\` starts a server there`,
  });
  await assert.rejects(Toolgate.connect({ socket: none }, { reconnect: { firstMs: 5, withinMs: 50 } }), {
    name: "ConnectionLost",
    message: /within 50 ms: there is no socket/,
  });
  await assert.rejects(Toolgate.connect({ socket: join(here.root, "x".repeat(200)) }, { reconnect: true }), {
    name: "CannotConnect",
    message: /too long/,
  });
});

test("a server that rejects the client says why", async (t) => {
  const here = world(t);
  const fake = await fakeServer(here);
  const connecting = Toolgate.connect({ socket: fake.path }, { reconnect: true });
  const guest = await fake.guest();
  guest.tell({ id: null, error: { code: -32001, message: "rejected: another user" } });
  await assert.rejects(connecting, { name: "CannotConnect", message: /rejected: another user/ });
});
