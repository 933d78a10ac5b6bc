// Program of the WebSocket test: calls a tool, tries a wrong token, kills the server in mid-request, prints the results.

import { Toolgate, tool } from "toolgate";

const [websocket, token, pid] = process.argv.slice(2);
// With a newline, as if read from a file.
const client = await Toolgate.connect({ websocket, token: `${token}\n` });
let isCalled;
const called = new Promise((resolve) => (isCalled = resolve));
const hang = tool({
  name: "hang",
  description: "Hangs.",
  schema: { type: "object" },
  run: () => (isCalled(), new Promise(() => {})),
});
const session = await client.session({ tools: [hang] });
const { success } = await session.call("list_dir", { path: "." });
const reasonOf = (promise) =>
  promise.then(
    () => "none",
    (error) => error.reason,
  );
const wrongToken = await reasonOf(Toolgate.connect({ websocket, token: "wrong" }));
const hanging = reasonOf(session.call("hang"));
await called;
process.kill(Number(pid), "SIGKILL");
const killed = await hanging;
console.log(JSON.stringify({ success, wrongToken, killed }));
