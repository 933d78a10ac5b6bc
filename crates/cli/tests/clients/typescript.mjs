// The official TypeScript client, of both its majors, against `toolgate mcp`.
// Arguments: the folder of packages, the server, where it works, its home.
const [packages, command, cwd, HOME] = process.argv.slice(2);
const from = (path) => import(`${packages}/@modelcontextprotocol/${path}`);
const env = { HOME, PATH: process.env.PATH ?? "/usr/bin:/bin" };

async function drive(name, Client, Transport, options) {
  const client = new Client({ name, version: "1.0.0" }, options);
  await client.connect(new Transport({ command, args: ["mcp"], cwd, env, stderr: "ignore" }));
  const { tools } = await client.listTools();
  const read = await client.callTool({ name: "read_file", arguments: { path: "a.txt" } });
  const ran = await client.callTool({ name: "exec_command", arguments: { cmd: "exit 3" } });
  console.log(JSON.stringify({
    name,
    has_tools: tools.some((tool) => tool.name === "apply_patch" && tool.annotations.destructiveHint !== undefined),
    read: read.content[0].text,
    failed: ran.isError,
    exit_code: ran._meta["toolgate/data"].exit_code,
  }));
  await client.close();
}

const old = await from("sdk/dist/esm/client/index.js");
const oldStdio = await from("sdk/dist/esm/client/stdio.js");
await drive("v1", old.Client, oldStdio.StdioClientTransport, {});
const now = await from("client/dist/index.mjs");
const stdio = await from("client/dist/stdio.mjs").catch(() => now);
await drive("v2", now.Client, stdio.StdioClientTransport, { versionNegotiation: { mode: "auto" } });
