// Requests above the server's limit wait in the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Aborted, ConnectionLost } from "toolgate";
import { RequestSlots } from "../dist/request-slots.js";
import { begun, world } from "./support.mjs";

test("400 calls at once succeed", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  assert.ok(client.server.limits.requests < 400);
  const calls = Array.from({ length: 400 }, () => session.call("list_dir", { path: "." }));
  assert.ok((await Promise.all(calls)).every(({ success }) => success));
});

test("waiting requests can be aborted, and requests that end others are sent at once", async (t) => {
  const here = world(t);
  const { client, pid } = await here.startWithPid();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  const process = await session.startProcess("cat", { stdin: true });
  const reads = Array.from({ length: 300 }, () => client.request("process/read", {
    session_id: session.id, process_id: process.id, wait_ms: 30_000,
  }));
  await assert.rejects(session.listTools({ signal: AbortSignal.timeout(20) }), Aborted);
  const last = session.listTools();
  await process.write("text");
  await process.kill();
  const settled = await Promise.allSettled(reads);
  assert.ok(settled.every(({ reason }) => reason === undefined || reason.reason === "no_such_process"));
  assert.ok((await last).length > 0);
  const sleeping = { cmd: "sleep 60", yield_time_ms: 30_000 };
  const calls = Array.from({ length: 300 }, () => session.call("exec_command", sleeping));
  globalThis.process.kill(pid(), "SIGKILL");
  const lost = await Promise.allSettled(calls);
  assert.ok(lost.every(({ reason }) => reason instanceof ConnectionLost));
});

test("prompts leave room for the requests of tools", async (t) => {
  const { session, guest } = await begun(t);
  const prompts = Array.from({ length: 200 }, () => session.prompt("hi").result.catch((error) => error));
  const calling = session.call("list_dir");
  let method;
  let sent = 0;
  for (; method !== "tool/call"; sent++) {
    const request = await guest.next();
    method = request.method;
    if (method === "tool/call") guest.answer(request, { content_items: [], success: true });
  }
  assert.equal(sent, 121);
  assert.ok((await calling).success);
  guest.drop();
  assert.ok((await Promise.all(prompts)).every((error) => error instanceof ConnectionLost));
});

test("a small limit holds", async () => {
  const slots = new RequestSlots();
  slots.limit = 1;
  const taken = ["tool/call", "session/prompt", "session/close"].map((method) => slots.take(method));
  assert.deepEqual(taken, [true, false, false]);
  const { signal } = new AbortController();
  const started = [];
  const waiting = ["a", "b"].map((name) => slots.wait("tool/call", signal).then(() => started.push(name)));
  slots.release();
  await waiting[0];
  assert.deepEqual(started, ["a"]);
  slots.release();
  await waiting[1];
  assert.deepEqual(started, ["a", "b"]);
});
