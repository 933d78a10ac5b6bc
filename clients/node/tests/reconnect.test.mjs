// Lost connections and killed servers: no event is lost or repeated, no call runs twice, and what is lost says so.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ConnectionLost, EventsDropped, JournalBehind, NoSuchProcess, NoSuchSession, tool, TurnLost } from "toolgate";
import { begun, call, deferred, DETAILS, first, message, proxy, SocketServer, untilEvent, world } from "./support.mjs";

const RECONNECT = { reconnect: { firstMs: 5, withinMs: 5000 } };
const greet = tool({
  name: "greet",
  description: "Greets.",
  schema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  run: ({ name }) => `hello ${name}`,
});

test("events continue after the last one received, and none comes twice", async (t) => {
  const { client, fake, session, guest } = await begun(t, RECONNECT, { sandbox: "read-only", tools: [greet] });
  guest.event(2, "notice");
  assert.deepEqual(await first(session.events(), 2), [
    [1, "session"],
    [2, "notice"],
  ]);
  guest.drop();
  const next = await fake.guest();
  const params = await next.welcome({ cursor: 3 });
  assert.deepEqual([params.cursor, params.start], [2, { sandbox: "read-only" }]);
  assert.deepEqual(
    params.tools.map(({ name }) => name),
    ["greet"],
  );
  next.event(1, "session");
  const listing = client.sessions();
  next.answer(await next.expect("session/list"), { sessions: [] });
  await listing;
  assert.equal(session.cursor, 2, "an event that came already changes nothing");
  next.event(3, "end");
  assert.deepEqual(await first(session.events(), 3), [
    [1, "session"],
    [2, "notice"],
    [3, "end"],
  ]);
  assert.equal(session.cursor, 3);
});

test("a call is sent again with its key", async (t) => {
  const { fake, session, guest } = await begun(t, RECONNECT);
  const calling = session.call("t", { a: 1 });
  const before = await guest.expect("tool/call");
  guest.drop();
  const next = await fake.guest();
  await next.welcome({ cursor: 1 });
  const again = await next.expect("tool/call");
  assert.deepEqual(again.params, before.params);
  assert.ok(again.params.key);
  next.answer(again, { call_id: "c", success: true, content_items: [], elapsed_ms: 1, repeated: true });
  assert.ok((await calling).repeated);
});

test("requests that cannot be sent twice are rejected", async (t) => {
  const { client, session, guest } = await begun(t, RECONNECT);
  const requests = {
    "process/start": session.startProcess("true"),
    "session/start": client.session(),
    "fs/write": session.writeFile("f", "", { new: true }),
    "session/interrupt": session.interrupt(),
  };
  for (const method of Object.keys(requests)) await guest.expect(method);
  guest.drop();
  for (const request of Object.values(requests)) await assert.rejects(request, ConnectionLost);
});

/** Sends a prompt that is never answered on the first connection. */
async function prompted(t) {
  const talk = await begun(t, RECONNECT);
  const turn = talk.session.prompt("go");
  await talk.guest.expect("session/prompt");
  return { ...talk, turn };
}

test("a turn that ended meanwhile is read from the events", async (t) => {
  const { fake, guest, turn } = await prompted(t);
  guest.event(2, "prompt", { text: "go" });
  guest.drop();
  const next = await fake.guest();
  await next.welcome({ cursor: 4 });
  next.event(3, "said", { items: [{ pieces: [{ text: "all " }, { text: "of it" }] }] });
  next.event(4, "turn", { id: "t2", ended: "done" });
  assert.deepEqual(await turn.result, { turn_id: "t2", ended: "done", text: "all of it", detail: null });
  assert.deepEqual(await first(turn), [
    [2, "prompt"],
    [3, "said"],
    [4, "turn"],
  ]);
});

test("a turn that still runs is waited for, over several connections", async (t) => {
  const { fake, guest, turn } = await prompted(t);
  guest.drop();
  const second = await fake.guest();
  await second.welcome({ cursor: 1, busy: true });
  second.event(2, "prompt", { text: "go" });
  second.drop();
  const third = await fake.guest();
  await third.welcome({ cursor: 2, busy: true });
  third.event(3, "turn", { id: "t2", ended: "failed", detail: "why" });
  const { ended, detail } = await turn.result;
  assert.deepEqual([ended, detail], ["failed", "why"]);
});

test("a turn that ran on the second connection and not on the third is lost", async (t) => {
  const { client, fake, guest, turn } = await prompted(t);
  guest.event(2, "prompt", { text: "go" });
  guest.drop();
  const second = await fake.guest();
  await second.welcome({ cursor: 2, busy: true });
  // After this request, the prompt waits for the end of its turn.
  const listing = client.sessions();
  second.answer(await second.expect("session/list"), { sessions: [] });
  await listing;
  second.drop();
  await (await fake.guest()).welcome({ cursor: 2 });
  await assert.rejects(turn.result, TurnLost);
});

test("a broken line while sessions are attached again ends the client", async (t) => {
  const { client, fake, guest } = await begun(t, RECONNECT);
  const listing = client.sessions();
  await guest.expect("session/list");
  guest.drop();
  const next = await fake.guest();
  await next.welcome();
  await next.expect("session/attach");
  next.raw("broken\n");
  await assert.rejects(listing, { reason: "protocol_error" });
  assert.equal((await client.closed).reason, "protocol_error");
});

test("a prompt that never arrived is sent again", async (t) => {
  const { fake, guest, turn } = await prompted(t);
  guest.drop();
  const next = await fake.guest();
  await next.welcome({ cursor: 1 });
  next.answer(await next.expect("session/prompt"), { turn_id: "t2", ended: "done", text: "ok" });
  assert.equal((await turn.result).text, "ok");
});

test("a prompt that was added to a turn is not sent again", async (t) => {
  const { fake, guest, turn } = await prompted(t);
  guest.drop();
  const next = await fake.guest();
  await next.welcome({ cursor: 1, busy: true });
  next.event(2, "added", { text: "go" });
  next.event(3, "turn", { id: "t0", ended: "done" });
  assert.equal((await turn.result).turn_id, "t0");
});

test("a turn that died with its server is lost", async (t) => {
  const { fake, guest, turn } = await prompted(t);
  guest.event(2, "prompt", { text: "go" });
  guest.drop();
  const next = await fake.guest();
  await next.welcome({ cursor: 4, resumed: true });
  // What the next server writes about that turn is not its result.
  next.event(3, "session", { resumed: true });
  next.event(4, "turn", { id: "t2", ended: "interrupted" });
  await assert.rejects(
    turn.result,
    (error) => error instanceof TurnLost && /`prompt` can be called again/.test(error.message),
  );
});

test("a prompt that is aborted while the connection is lost settles", async (t) => {
  const talk = await begun(t, RECONNECT);
  const controller = new AbortController();
  const turn = talk.session.prompt("go", { signal: controller.signal });
  await talk.guest.expect("session/prompt");
  talk.guest.drop();
  const next = await talk.fake.guest();
  await next.welcome({ cursor: 1, busy: true });
  // After this request, the prompt waits for events.
  const listing = talk.client.sessions();
  next.answer(await next.expect("session/list"), { sessions: [] });
  await listing;
  controller.abort();
  await assert.rejects(turn.result, { reason: "aborted" });
  await next.expect("session/interrupt");
});

test("a journal that lost events is not followed silently", async (t) => {
  const { fake, session, guest } = await begun(t, RECONNECT);
  guest.event(2, "notice");
  await first(session.events(), 2);
  guest.drop();
  await (await fake.guest()).welcome({ cursor: 1, resumed: true });
  await assert.rejects(
    first(session.events(), 3),
    (error) => error instanceof JournalBehind && /ends at 1, before event 2/.test(error.message),
  );
});

test("a session that is gone says why, and the client goes on", async (t) => {
  const { client, fake, session, guest } = await begun(t, RECONNECT);
  guest.drop();
  const next = await fake.guest();
  await next.welcome();
  next.fail(await next.expect("session/attach"), -32001, "there is no such session");
  await assert.rejects(first(session.events(), 2), NoSuchSession);
  const listing = client.sessions();
  next.answer(await next.expect("session/list"), { sessions: [] });
  assert.deepEqual(await listing, []);
});

test("a session is attached though the connection is lost meanwhile", async (t) => {
  const { client, fake, guest } = await begun(t, RECONNECT);
  const attaching = client.attach("other", { cursor: 4 });
  await guest.expect("session/attach");
  guest.drop();
  const next = await fake.guest();
  await next.welcome();
  for (const _ of ["s", "other"]) {
    const attach = await next.expect("session/attach");
    const { session_id, cursor } = attach.params;
    next.answer(attach, { ...DETAILS, session_id, cursor, resumed: true, busy: false });
  }
  const session = await attaching;
  assert.deepEqual([session.id, session.cursor], ["other", 4]);
});

test("events that are not kept are missed loudly", async (t) => {
  const { session, guest } = await begun(t, {}, { keepEvents: 2 });
  for (const cursor of [2, 3, 4]) guest.event(cursor, "notice");
  const closing = session.close();
  guest.answer(await guest.expect("session/close"), {});
  guest.event(5, "end");
  await closing;
  assert.deepEqual(await first(session.events(3)), [
    [4, "notice"],
    [5, "end"],
  ]);
  await assert.rejects(
    first(session.events()),
    (error) => error instanceof EventsDropped && /events 1 to 3/.test(error.message),
  );
});

/** Closes a session and checks its events: each cursor once and in order, each call answered once. */
async function assertToldOnce(session) {
  await session.close();
  const events = [];
  for await (const event of session.events()) events.push(event);
  assert.deepEqual(
    events.map(({ cursor }) => cursor),
    events.map((_, index) => index + 1),
  );
  const calls = events.filter(({ kind }) => kind === "call").map(({ id }) => id);
  const answers = events.filter(({ kind }) => kind === "answered").map((event) => event.call);
  assert.deepEqual(calls.sort(), answers.sort());
  return events;
}

test("calls, turns and processes survive a connection that is cut again and again", async (t) => {
  const here = world(t);
  const server = await SocketServer.start(here);
  const wire = await proxy(here, server.socket);
  const client = await here.connect(wire.path, { reconnect: true });
  const script = here.script([call("exec_command", { cmd: "echo turn >> done.txt" })], [message("Done.")]);
  const session = await client.session({
    cwd: here.work,
    sandbox: "workspace-write",
    approval: "never",
    model: { script },
  });
  const cutting = (async () => {
    for await (const { cursor } of session.events()) if (cursor % 7 === 0) wire.cut();
  })();
  assert.equal((await session.prompt("go").result).text, "Done.");
  for (let number = 0; number < 8; number++) {
    assert.ok((await session.call("exec_command", { cmd: `echo ${number} >> done.txt` })).success);
  }
  assert.equal(readFileSync(join(here.work, "done.txt"), "utf8"), "turn\n0\n1\n2\n3\n4\n5\n6\n7\n");
  const process = await session
    .startProcess(["seq", "1", "100000"])
    .catch(() => session.startProcess(["seq", "1", "100000"]));
  let written = "";
  let cuts = 0;
  for await (const piece of process) {
    written += piece.text;
    if (cuts++ % 3 === 1) wire.cut();
  }
  assert.deepEqual(
    written.trim().split("\n"),
    Array.from({ length: 100000 }, (_, index) => String(index + 1)),
  );
  await assertToldOnce(session);
  await cutting;
});

test("a question that is open is asked again after a reconnect", async (t) => {
  const here = world(t);
  const server = await SocketServer.start(here);
  const wire = await proxy(here, server.socket);
  const client = await here.connect(wire.path, { reconnect: true });
  const asked = [];
  const waits = deferred();
  const onApproval = (approval) => {
    asked.push(approval);
    if (asked.length > 1) return true;
    waits.resolve();
    return new Promise(() => {});
  };
  const session = await client.session({
    cwd: here.work,
    sandbox: "workspace-write",
    approval: "untrusted",
    onApproval,
  });
  const calling = session.call("exec_command", { cmd: "echo yes >> done.txt" });
  await waits.promise;
  wire.cut();
  assert.ok((await calling).success);
  assert.equal(asked.length, 2);
  assert.equal(asked[0].call_id, asked[1].call_id);
  assert.ok(asked[0].signal.aborted, "the first question is withdrawn");
  assert.equal(readFileSync(join(here.work, "done.txt"), "utf8"), "yes\n");
});

test("sessions survive a killed server: finished calls are not run again, a cut-off turn is lost", async (t) => {
  const here = world(t);
  const server = await SocketServer.start(here);
  const client = await here.connect(server.socket, { reconnect: true });
  const hangs = deferred();
  const hang = tool({
    name: "hang",
    description: "Hangs once.",
    schema: { type: "object" },
    run: () => (hangs.isOver ? "back" : new Promise(() => ((hangs.isOver = true), hangs.resolve()))),
  });
  const model = { script: here.script([call("hang")], [message("Done.")]) };
  const session = await client.session({
    cwd: here.work,
    sandbox: "workspace-write",
    approval: "never",
    model,
    tools: [hang],
  });
  const once = () => session.call("exec_command", { cmd: "echo once >> done.txt" }, { key: "once" });
  assert.ok((await once()).success);
  const turn = session.prompt("go");
  await hangs.promise;
  const running = session.call("exec_command", { cmd: "echo hang >> done.txt; sleep 60", yield_time_ms: 30_000 });
  let attempts = 0;
  await untilEvent(session, "attempt", (event) => event.call.startsWith("key-") && ++attempts === 2);
  await server.kill();
  const listing = client.sessions({ live: true });
  await server.start();
  await assert.rejects(turn.result, TurnLost);
  const cutOff = await running;
  assert.ok(!cutOff.success && cutOff.text.includes("interrupted; effects unknown"), cutOff.text);
  assert.deepEqual(
    (await listing).map(({ session_id }) => session_id),
    [session.id],
  );
  assert.ok((await once()).repeated);
  assert.equal(readFileSync(join(here.work, "done.txt"), "utf8").match(/once/g).length, 1);
  assert.equal((await session.prompt("again").result).text, "Done.");
  await assertToldOnce(session);
});

test("a server that was started by the client is started again", async (t) => {
  const here = world(t);
  const { client, pid } = await here.startWithPid({ reconnect: true });
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  assert.ok((await session.call("list_dir", { path: "." })).success);
  const calling = session.call("exec_command", { cmd: "sleep 60" });
  await untilEvent(session, "attempt", (event) => event.cursor > 6);
  process.kill(pid(), "SIGKILL");
  assert.match((await calling).text, /interrupted; effects unknown/);
  assert.ok((await session.call("list_dir", { path: "." })).success);
});

test("a process of a killed server says that it ended with it", async (t) => {
  const here = world(t);
  const { client, pid } = await here.startWithPid({ reconnect: true });
  const session = await client.session({ cwd: here.work });
  const sleeping = await session.startProcess("sleep 60");
  process.kill(pid(), "SIGKILL");
  const ended = `process ${sleeping.id} ended with its server; a new server continues the session without it`;
  const output = () => sleeping.output();
  await assert.rejects(output(), (error) => {
    assert.deepEqual([error.constructor, error.message], [NoSuchProcess, ended]);
    assert.match(error.stack.split("\n")[1], /reconnect\.test\.mjs/);
    return true;
  });
  await assert.rejects(session.request("process/kill", { process_id: 77 }), /there is no process 77/);
});
