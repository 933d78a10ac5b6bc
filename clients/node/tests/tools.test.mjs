// Tools of this program with the real server: failures, results without a JSON form, time limits.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tool, ToolFailure } from "toolgate";
import { BINARY, deferred, PACKAGE, run, untilEvent, world } from "./support.mjs";

const make = (name, run, more = {}) =>
  tool({ name, description: "A tool.", schema: { type: "object" }, run, ...more });

/** Collects the warnings of a test. */
function warnings(t) {
  const seen = [];
  const note = (warning) => seen.push(warning);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  return seen;
}

/** Starts a session with tools. */
async function withTools(t, ...tools) {
  const here = world(t);
  const client = await here.start();
  return { client, session: await client.session({ cwd: here.work, tools }) };
}

test("a ToolFailure fails the call without a warning", async (t) => {
  const seen = warnings(t);
  const failing = make("weather", () => {
    throw new ToolFailure("unknown city");
  });
  const { session } = await withTools(t, failing);
  const { success, error, text } = await session.call("weather");
  assert.deepEqual([success, error, text], [false, "io", "`weather`: unknown city"]);
  assert.deepEqual(seen, []);
});

test("another error prints one line with its place, and --trace-warnings its stack", async (t) => {
  const here = world(t);
  const file = join(here.work, "program.mjs");
  writeFileSync(
    file,
    `import { Toolgate, tool } from ${JSON.stringify(join(PACKAGE, "dist/index.js"))};
const run = () => { throw new RangeError("no\\nsuch city"); };
const failing = tool({ name: "t", description: "", schema: { type: "object" }, run });
const client = await Toolgate.start();
const session = await client.session({ tools: [failing] });
process.on("warning", ({ cause }) => console.log(cause.constructor.name));
console.log((await session.call("t")).text);
await client.close();
`,
  );
  const options = { cwd: here.work, env: { ...here.env, TOOLGATE_BIN: BINARY } };
  const { out, err } = await run(process.execPath, [file], options);
  assert.deepEqual(out.trim().split("\n").sort(), ["RangeError", "`t`: RangeError: no\\nsuch city"]);
  const [line, ...others] = err.trim().split("\n");
  assert.match(line, /the tool `t` threw an error, which the model gets: RangeError: no \(file:.*program\.mjs:2:\d+\)$/);
  assert.ok(others.length === 1 && others[0].startsWith("(Use `node --trace-warnings"), err);
  assert.match((await run(process.execPath, ["--trace-warnings", file], options)).err, /\n    at .*program\.mjs:2/);
});

test("an error after the caller cancelled is no warning", async (t) => {
  const seen = warnings(t);
  const called = deferred();
  const ended = deferred();
  const failing = make("slow", async (_, { signal }) => {
    called.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    ended.resolve(signal.reason);
    throw new Error("interrupted");
  });
  const { session } = await withTools(t, failing);
  const controller = new AbortController();
  const calling = session.call("slow", {}, { signal: controller.signal });
  await called.promise;
  controller.abort();
  await assert.rejects(calling, { name: "AbortError" });
  const reason = await ended.promise;
  assert.deepEqual([reason.name, reason.reason, reason.message], ["AbortError", "aborted", "the call was cancelled"]);
  await untilEvent(session, "answered");
  assert.deepEqual(seen, []);
});

test("the signal of a tool that takes too long says so", async (t) => {
  const ended = deferred();
  const slow = make("slow", (_, { signal }) => {
    signal.addEventListener("abort", () => ended.resolve(signal.reason));
    return new Promise(() => {});
  }, { timeoutMs: 200 });
  const { session } = await withTools(t, slow);
  assert.equal((await session.call("slow")).success, false);
  const { name, message } = await ended.promise;
  assert.deepEqual([name, message], ["TimedOut", "the tool `slow` took longer than 200 ms"]);
});

test("a result without a JSON form is refused, and says what to return", async (t) => {
  warnings(t);
  const results = {
    buffer: [Buffer.from("a"), /: TypeError: the result has a Buffer, which has no JSON form; return text, or `image/],
    nested: [{ a: [new Uint8Array(2)] }, /a Uint8Array, which has no JSON form/],
    map: [new Map([["a", 1]]), /a Map, which has no JSON form; convert it to text, an array or an object$/],
    promise: [[Promise.resolve(1)], /a Promise/],
    error: [{ error: new RangeError("x") }, /a RangeError/],
  };
  const { session } = await withTools(t, make("result", ({ of }) => results[of][0]));
  for (const [of, [, says]] of Object.entries(results)) {
    const { success, text } = await session.call("result", { of });
    assert.ok(!success);
    assert.match(text, says);
  }
  results.date = [{ at: new Date(0), none: null }];
  assert.equal((await session.call("result", { of: "date" })).text, '{"at":"1970-01-01T00:00:00.000Z","none":null}');
});
