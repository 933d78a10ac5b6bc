// Requests without a model, with the real server: processes, files, patches, verdicts.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CallFailed, InvalidParams, NoSuchProcess, Refused } from "toolgate";
import { begun, world } from "./support.mjs";

async function started(t) {
  const here = world(t);
  const client = await here.start();
  return { here, session: await client.session({ cwd: here.work, sandbox: "workspace-write", approval: "never" }) };
}

/** Reads the output of a process until it contains a text, and returns it. */
async function until(process, text) {
  let seen = "";
  for await (const piece of process) {
    seen += piece.text;
    if (seen.includes(text)) return seen;
  }
  return assert.fail(`it ended before it wrote ${text}: ${seen}`);
}

test("a character may begin in one piece of output and end in the next", async (t) => {
  const here = world(t);
  const client = await here.start();
  const session = await client.session({ cwd: here.work });
  const process = await session.startProcess("printf '\\360\\237'; sleep 0.3; printf '\\216\\211 done\\303'");
  let text = "";
  for await (const piece of process) text += piece.text;
  assert.equal(text, "🎉 done\ufffd");
});

test("a process has a terminal", async (t) => {
  const { session } = await started(t);
  const script =
    "trap 'echo interrupted; exit 3' INT; stty size; read name; echo hello $name; stty size; echo ready; while :; do sleep 0.05; done";
  const process = await session.startProcess(script, { tty: { rows: 24, cols: 80 } });
  await until(process, "24 80");
  await process.resize(30, 100);
  await process.write("you\n");
  assert.match(await until(process, "ready"), /hello you[^]*30 100/);
  await process.signal("INT");
  await until(process, "interrupted");
  assert.equal((await process.output()).exitCode, 3);
});

test("a process reads its input, and its streams are told apart", async (t) => {
  const { session } = await started(t);
  const process = await session.startProcess("cat; echo oops >&2; exit 7", { stdin: true });
  assert.deepEqual(await process.output("typed\n"), { stdout: "typed\n", stderr: "oops\n", exitCode: 7 });
  assert.deepEqual(await process.read(), []);
});

test("no output of a process is lost", async (t) => {
  const { session } = await started(t);
  const { stdout } = await (await session.startProcess(["seq", "1", "200000"])).output();
  assert.equal(stdout, Array.from({ length: 200000 }, (_, index) => `${index + 1}\n`).join(""));
  const parts = [];
  for await (const { data } of await session.startProcess("printf '\\377\\000x'")) parts.push(...data);
  assert.deepEqual(parts, [0xff, 0, 0x78]);
});

test("a process is killed", async (t) => {
  const { session } = await started(t);
  const process = await session.startProcess("sleep 60");
  await process.kill();
  assert.ok([137, 143].includes((await process.output()).exitCode));
  const third = await session.startProcess("sleep 60");
  await session.request("process/signal", { process_id: third.id, signal: "TERM" });
  assert.equal((await third.output()).exitCode, 143);
  const other = await session.startProcess("sleep 60");
  await other[Symbol.asyncDispose]();
  assert.notEqual((await other.output()).exitCode, 0);
});

test("the end of a process is noted though the read was aborted", async (t) => {
  const { session, guest } = await begun(t);
  const starting = session.startProcess("true");
  guest.answer(await guest.expect("process/start"), { process_id: 7 });
  const process = await starting;
  const controller = new AbortController();
  const aborted = process.read({ signal: controller.signal });
  const late = await guest.expect("process/read");
  controller.abort();
  await assert.rejects(aborted, { reason: "aborted" });
  await guest.expect("$/cancel");
  const reading = process.read();
  const again = await guest.expect("process/read");
  // The server reports the end once and then forgets the process.
  guest.answer(late, { pieces: [{ stream: "stdout", text: "last" }], next: 4, state: "exited", exit_code: 3 });
  guest.fail(again, -32005, "there is no process 7");
  assert.deepEqual(
    (await reading).map(({ text }) => text),
    ["last"],
  );
  assert.equal(process.exitCode, 3);
  const missing = session.startProcess("true");
  guest.answer(await guest.expect("process/start"), { process_id: 8 });
  const never = (await missing).read();
  guest.fail(await guest.expect("process/read"), -32005, "there is no process 8");
  await assert.rejects(never, NoSuchProcess);
});

test("files are written, read, listed and searched", async (t) => {
  const { session } = await started(t);
  assert.ok((await session.writeFile("deep/er/a.txt", "first\n")).created);
  assert.deepEqual(await session.writeFile("deep/er/a.txt", "one\nTwo\n"), { created: false, size: 8 });
  await assert.rejects(session.writeFile("deep/er/a.txt", "three", { new: true }), CallFailed);
  await session.writeFile("b.bin", new Uint8Array([0xff, 0]));
  const { text, size, next } = await session.readFile("deep/er/a.txt", { length: 4 });
  assert.deepEqual([text, size, next], ["one\n", 8, 4]);
  assert.equal((await session.readFile("deep/er/a.txt", { offset: 4 })).text, "Two\n");
  assert.deepEqual([...(await session.readFile("b.bin")).data], [0xff, 0]);
  const { entries, complete } = await session.listDir("", { depth: 3 });
  assert.ok(
    complete && entries.some((entry) => entry.path === "deep/er/a.txt" && entry.kind === "file" && entry.size === 8),
  );
  const found = await session.search("two", { ignore_case: true, glob: "*.txt" });
  assert.deepEqual(
    found.hits.map((hit) => [hit.line, hit.text]),
    [[2, "Two"]],
  );
  // Not below /tmp, which is private to the session.
  await assert.rejects(
    session.writeFile("/var/toolgate-client-test.txt", "no"),
    (error) => error instanceof Refused && error.data.denials.length > 0,
  );
});

test("a patch is applied once or not at all", async (t) => {
  const { here, session } = await started(t);
  const file = join(here.work, "a.txt");
  writeFileSync(file, "one\ntwo\n");
  const patch =
    "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n*** Add File: b.txt\n+new\n*** End Patch\n";
  const { changes } = await session.applyPatch(patch, { key: "p" });
  assert.deepEqual(changes.map(({ kind, path }) => `${kind} ${path}`).sort(), ["A b.txt", "M a.txt"]);
  assert.ok((await session.applyPatch(patch, { key: "p" })).repeated);
  await assert.rejects(session.applyPatch(patch.replace("three", "four")), CallFailed);
  assert.equal(readFileSync(file, "utf8"), "one\nthree\n");
});

test("verdicts are explained, and nothing is done", async (t) => {
  const { here, session } = await started(t);
  const dangerous = await session.explain("touch made; rm -rf /");
  assert.notEqual(dangerous.verdict, "allow");
  assert.ok(dangerous.why.length > 0);
  assert.equal((await session.explain("ls")).verdict, "allow");
  assert.equal((await session.explain(["ls", "-l"])).commands[0].command, "ls -l");
  assert.notEqual((await session.explain(["rm", "-rf", "/"])).verdict, "allow");
  assert.equal((await session.explain({ tool: "read_file", arguments: { path: "a.txt" } })).verdict, "allow");
  assert.ok(!existsSync(join(here.work, "made")));
});

test("a file that is too long is one clear error, and parts of it can be joined", async (t) => {
  const { session } = await started(t);
  const tooLong = /^`big` is too long for `writeFile`: the limit is 8388608 bytes of JSON, and this is \d+; write it in parts, and join them/;
  for (const data of ["x".repeat(8 << 20), "é\n".repeat(3 << 20), new Uint8Array(7 << 20), "\x01".repeat(2 << 20), "x".repeat(17 << 20)]) {
    await assert.rejects(session.writeFile("big", data), (error) => {
      assert.match(error.message, tooLong);
      assert.match(error.stack.split("\n")[1], /without-model\.test\.mjs/);
      return error instanceof InvalidParams;
    });
  }
  assert.equal((await session.writeFile("big", "x".repeat((8 << 20) - 100))).size, (8 << 20) - 100);
});
