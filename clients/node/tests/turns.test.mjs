// Turns as promises and iterators: results, reasons of failed turns, and turns that the program does not read.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { NoModel, ToolgateError, TurnNotDone } from "toolgate";
import { begun, call, message, world } from "./support.mjs";

const DONE = { turn_id: "t2", ended: "done", text: "Yes." };

/** Collects the warnings of a test. */
function warnings(t) {
  const seen = [];
  const note = (warning) => seen.push(`${warning.name}: ${warning.message}`);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  return seen;
}

test("awaiting a turn gives its result", async (t) => {
  const seen = warnings(t);
  const { guest, session } = await begun(t);
  for (const read of [
    async () => await session.prompt("go"),
    () => session.prompt("go").result,
    () => session.prompt("go").throwUnlessDone(),
    () => session.prompt("go").then((result) => result),
    () => session.prompt("go").catch(() => assert.fail()),
    () => session.prompt("go").finally(() => {}),
    () => Promise.all([session.prompt("go")]).then(([result]) => result),
  ]) {
    const reading = read();
    guest.answer(await guest.expect("session/prompt"), DONE);
    assert.deepEqual(await reading, DONE, String(read));
  }
  assert.deepEqual(seen, []);
});

test("a turn that is rejected rejects its reader, or is a warning if it has none", async (t) => {
  const here = world(t);
  const seen = warnings(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work });
  await assert.rejects(async () => await session.prompt("go"), NoModel);
  await assert.rejects(session.prompt("go").throwUnlessDone(), NoModel);
  assert.ok((await session.prompt("go").catch((error) => error)) instanceof NoModel);
  await assert.rejects(async () => {
    for await (const _ of session.prompt("go"));
  }, NoModel);
  assert.deepEqual(seen, []);
  session.prompt("go");
  const [warning] = await once(process, "warning");
  assert.match(warning.message, /^a prompt failed, and the program does not await its turn: NoModel: .*turns\.test\.mjs/);
  assert.ok(warning.cause instanceof NoModel);
});

test("a turn that the program does not await, and that its end cuts off, is a warning", async (t) => {
  const { client, guest, session } = await begun(t);
  session.prompt("go");
  await guest.expect("session/prompt");
  const warned = once(process, "warning");
  await client.close();
  assert.match((await warned)[0].message, /does not await its turn: Closed: the client is closed/);
});

test("a turn that fails is a warning, and has its reason", async (t) => {
  const here = world(t);
  const seen = warnings(t);
  const client = await here.start();
  const loop = Array.from({ length: 3 }, () => [call("exec_command", { cmd: "true" })]);
  const session = await client.session({ cwd: here.work, model: { script: here.script(...loop), max_turns: 2 } });
  const warned = once(process, "warning");
  const turn = session.prompt("go");
  for await (const _ of turn);
  await warned;
  const { ended, detail } = await turn;
  const reason = "the turn reached its limit of requests to the model (`max_turns` of the model)";
  assert.deepEqual([ended, detail], ["max_turns", reason]);
  assert.deepEqual(seen, [`ToolgateWarning: session ${session.id}: the turn ended as \`max_turns\`: ${reason}`]);
  const error = await turn.throwUnlessDone().catch((error) => error);
  assert.ok(error instanceof TurnNotDone && error instanceof ToolgateError);
  assert.deepEqual([error.reason, error.turn], ["turn_not_done", await turn]);
  assert.equal(error.message, `the turn is not done, it ended as \`max_turns\`: ${reason}`);
  assert.match(error.stack.split("\n")[1], /turns\.test\.mjs/);
  const fine = await client.session({ cwd: here.work, model: { script: here.script([message("Yes.")]) } });
  assert.equal((await fine.prompt("go").throwUnlessDone()).text, "Yes.");
  assert.equal(seen.length, 1);
});

test("a wrong key ends a turn with the words of the provider", async (t) => {
  const here = world(t);
  warnings(t);
  const provider = createServer((_, response) => {
    response.writeHead(401).end('{"error": {"message": "Incorrect API key provided"}}');
  }).listen(0, "127.0.0.1");
  t.after(() => provider.close());
  await once(provider, "listening");
  const base_url = `http://127.0.0.1:${provider.address().port}/v1`;
  const client = await here.start({ env: { ...here.env, OPENAI_API_KEY: "wrong" } });
  const session = await client.session({ cwd: here.work, model: { name: "gpt-5", base_url } });
  const { ended, detail } = await session.prompt("go");
  assert.equal(ended, "failed");
  assert.match(detail, /Incorrect API key provided/);
});

test("a turn that is not done always has a detail", async (t) => {
  warnings(t);
  const { guest, session } = await begun(t);
  for (const ended of ["cut_short", "interrupted", "max_turns", "out_of_budget", "failed", "steered", "new"]) {
    for (const detail of [null, "why"]) {
      const turn = session.prompt("go");
      guest.answer(await guest.expect("session/prompt"), { turn_id: "t", ended, text: "", detail });
      const found = (await turn).detail;
      assert.ok(detail === null ? found.length > 20 : found === "why", `${ended}: ${found}`);
    }
  }
});
