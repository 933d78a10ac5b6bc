// Errors of requests to the real server: the stack of the caller, and the class for each cause.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CallFailed, ConnectionLost, Refused, RpcError, ToolgateError } from "toolgate";
import { world } from "./support.mjs";

/** Returns the error of a promise. */
const failure = (promise) =>
  promise.then(
    () => assert.fail("no error"),
    (error) => error,
  );
const readMissing = (session) => session.readFile("nope");

test("the stack of an error names the line of the caller, and no line of the package", async (t) => {
  const here = world(t);
  const { client, pid } = await here.startWithPid();
  const session = await client.session({ cwd: here.work });
  const process = await session.startProcess("sleep 60");
  const cycle = {};
  cycle.cycle = cycle;
  const promises = {
    readMissing: () => readMissing(session),
    async iterating() {
      for await (const _ of session.prompt("hi"));
    },
    attaching: () => client.attach("20200101-000000-aaaaaa"),
    timing: () => session.call("exec_command", { cmd: "sleep 9" }, { timeoutMs: 10 }),
    resizing: () => process.resize(1, 1),
    bigint: () => session.call("list_dir", { depth: 1n }),
    circular: () => session.call("list_dir", cycle),
    starting: () => here.start({ command: "/none" }),
    async later() {
      await session.listTools();
      await session.interrupt({ signal: AbortSignal.abort() });
    },
  };
  for (const [name, make] of Object.entries(promises)) {
    const error = await failure(make());
    const isArgument = name === "bigint" || name === "circular";
    assert.ok(isArgument ? error.constructor.name === "ArgumentError" : error instanceof ToolgateError, name);
    const [head, ...frames] = error.stack.split("\n");
    assert.equal(head, `${error.name}: ${error.message}`.split("\n")[0], name);
    // `starting` calls a helper of the tests first.
    assert.match(frames.slice(0, name === "starting" ? 2 : 1).join(), new RegExp(`${name}.*errors\\.test\\.mjs`), name);
    assert.ok(!error.stack.includes("/dist/"), error.stack);
  }
  const readEvents = async () => {
    for await (const _ of session.events());
  };
  const reading = failure(readEvents());
  const calls = [readMissing(session), session.call("exec_command", { cmd: "sleep 60" })].map(failure);
  globalThis.process.kill(pid(), "SIGKILL");
  const lost = (await Promise.all(calls)).filter((error) => error instanceof ConnectionLost);
  assert.match(lost.at(-1).stack.split("\n")[1], /errors\.test\.mjs/);
  assert.match((await reading).stack.split("\n")[1], /readEvents.*errors\.test\.mjs/);
  const errors = await Promise.all([failure(session.listTools()), failure(readMissing(session))]);
  assert.match(errors[1].stack.split("\n")[1], /readMissing/);
  assert.doesNotMatch(errors[0].stack, /readMissing/);
});

test("a call that failed is told apart from one that was refused", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" });
  const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+three\n*** End Patch\n";
  await session.writeFile("a.txt", "one\n");
  for (const [failed, error] of [
    [() => session.readFile("nope"), "io"],
    [() => session.listDir("nope"), "io"],
    [() => session.applyPatch(patch), undefined],
    [() => session.writeFile("a.txt", "x", { new: true }), undefined],
    [async () => (await session.startProcess(["no-such-program"])).read(), undefined],
  ]) {
    const found = await failure(failed());
    assert.deepEqual([found.constructor, found.reason, found.data?.error], [CallFailed, "call_failed", error]);
    assert.ok(found instanceof RpcError && !(found instanceof Refused));
  }
  for (const refused of [
    () => session.writeFile("/var/x", "x"),
    () => session.readFile("/etc/shadow"),
    () => session.startProcess("rm -rf /"),
  ]) {
    const found = await failure(refused());
    assert.deepEqual([found.constructor, found.reason, found.data.error], [Refused, "refused", "forbidden"]);
    assert.ok(found.data.denials.length > 0);
  }
});
