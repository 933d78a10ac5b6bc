// Helpers of the tests: the real server with private directories, a proxy whose connections can be cut, a fake server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Toolgate } from "toolgate";

export const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
export const BINARY = resolve(process.env.TOOLGATE_BIN ?? join(PACKAGE, "../../target/debug/toolgate"));
assert.ok(
  existsSync(BINARY),
  `there is no program at ${BINARY}: build it with \`cargo build\`, or set TOOLGATE_BIN to its path`,
);
// Each test names its program.
delete process.env.TOOLGATE_BIN;

/** Time that processes of a test have to exit after it. */
const LEAVE_MS = 10_000;

/** Script item: the model calls a function. */
export const call = (name, args = {}) => ({ type: "function_call", name, arguments: args });
/** Script item: the model writes a message. */
export const message = (text) => ({ type: "message", text });

/** Directories of one test, and what it starts. Everything is closed and removed after the test. */
export function world(t) {
  const root = mkdtempSync(join(tmpdir(), "tg-node-"));
  const [work, home] = [join(root, "work"), join(root, "home")];
  mkdirSync(work);
  mkdirSync(home, { mode: 0o700 });
  const env = { TOOLGATE_HOME: join(home, "toolgate"), HOME: home, XDG_RUNTIME_DIR: home };
  const closing = [];
  t.after(async () => {
    for (const close of closing.reverse()) await close();
    const left = await leftovers(root);
    rmSync(root, { recursive: true, force: true });
    assert.deepEqual(left, [], "processes that the test left running");
  });
  return {
    root,
    work,
    env,
    closing,
    /** Starts a client with a server of its own. */
    async start(options = {}) {
      const client = await Toolgate.start({ command: BINARY, env, cwd: work, ...options });
      closing.push(() => client.close());
      return client;
    },
    /** Starts a client with a server whose process ID is known. */
    async startWithPid(options = {}) {
      const args = ["-c", `echo $$ > ${root}/pid; exec ${BINARY} serve`];
      const client = await this.start({ command: "sh", args, ...options });
      return { client, pid: () => Number(readFileSync(join(root, "pid"), "utf8")) };
    },
    /** Connects to a socket. */
    async connect(socket, options = {}) {
      const client = await Toolgate.connect({ socket }, options);
      closing.push(() => client.close());
      return client;
    },
    /** Writes a model script and returns its path. Each argument is a turn: a list of items. */
    script(...turns) {
      const path = join(root, `script-${readdirSync(root).length}.jsonl`);
      writeFileSync(path, turns.map((items) => `${JSON.stringify({ items })}\n`).join(""));
      return path;
    },
  };
}

/** Returns the command lines of processes that belong to a directory and do not exit. */
async function leftovers(root) {
  const deadline = performance.now() + LEAVE_MS;
  for (;;) {
    const left = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && belongs(pid, root));
    if (left.length === 0 || performance.now() > deadline) return left.map((pid) => read(`/proc/${pid}/cmdline`));
    // Polls: the processes are not our children.
    await sleep(20);
  }
}

function belongs(pid, root) {
  if (Number(pid) === process.pid) return false;
  try {
    return [readlinkSync(`/proc/${pid}/cwd`), read(`/proc/${pid}/environ`), read(`/proc/${pid}/cmdline`)].some((text) =>
      text.includes(root),
    );
  } catch {
    return false;
  }
}

function read(path) {
  try {
    return readFileSync(path, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** A `toolgate serve --socket` process that can be killed and started again. */
export class SocketServer {
  constructor(world) {
    this.world = world;
    this.socket = join(world.root, "s.sock");
  }

  static async start(world) {
    const server = new SocketServer(world);
    world.closing.push(() => server.kill());
    await server.start();
    return server;
  }

  async start() {
    const { env, work } = this.world;
    this.process = spawn(BINARY, ["serve", "--socket", this.socket], {
      env: { ...process.env, ...env },
      cwd: work,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.exited = once(this.process, "exit");
    // Ends: the server prints where it serves. The rest is read so that it does not block.
    const lines = createInterface({ input: this.process.stderr });
    for await (const line of lines) if (line.includes("serving at")) break;
    this.process.stderr.resume();
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.exited;
  }
}

/** Socket proxy in front of a server. Its connections can be cut while the server keeps running. */
export async function proxy(world, socket) {
  const path = join(world.root, "proxy.sock");
  const open = new Set();
  const server = createServer((client) => {
    const upstream = connect(socket);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      open.add(from);
      from
        .on("error", () => {})
        .on("data", (data) => to.write(data))
        .on("close", () => (open.delete(from), to.destroy()));
    }
  });
  const cut = () => open.forEach((each) => each.destroy());
  world.closing.push(() => (server.close(), cut()));
  server.listen(path);
  await once(server, "listening");
  return { path, cut };
}

const LIMITS = { message_bytes: 1 << 20, requests: 256, sessions: 10, tools: 10, processes: 10 };
export const DETAILS = { session_id: "s", journal: "", cwd: "/", sandbox: "read-only", approval: "never", tools: [] };

/** Fake server on a real socket, controlled by the test step by step. */
export async function fakeServer(world) {
  const path = join(world.root, "fake.sock");
  const guests = queue();
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    guests.push(new Guest(socket));
  });
  world.closing.push(() => (server.close(), sockets.forEach((each) => each.destroy())));
  server.listen(path);
  await once(server, "listening");
  return { path, guest: () => guests.next(), close: () => server.close() };
}

/** Server side of one connection. */
class Guest {
  #socket;
  #lines = queue();

  constructor(socket) {
    this.#socket = socket.on("error", () => {});
    createInterface({ input: socket }).on("line", (line) => this.#lines.push(JSON.parse(line)));
  }

  /** Returns the next message, which must call this method. */
  async expect(method) {
    const message = await this.#lines.next();
    assert.equal(message.method, method, JSON.stringify(message));
    return message;
  }

  /** Returns the next message. */
  next = () => this.#lines.next();
  tell = (message) => this.raw(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  answer = (request, result) => this.tell({ id: request.id, result });
  fail = (request, code, message) => this.tell({ id: request.id, error: { code, message } });
  event = (cursor, kind, members = {}) =>
    this.tell({
      method: "session/event",
      params: { session_id: "s", cursor, event: { seq: cursor, kind, ...members } },
    });
  raw = (text) => this.#socket.write(text);
  drop = () => this.#socket.destroy();

  /** Answers `initialize`, and also `session/attach` if members of its result are given. Returns the params of that. */
  async welcome(attached) {
    this.answer(await this.expect("initialize"), { protocol: 1, server: { name: "fake" }, limits: LIMITS });
    if (!attached) return undefined;
    const attach = await this.expect("session/attach");
    this.answer(attach, { ...DETAILS, resumed: false, busy: false, cursor: 0, ...attached });
    return attach.params;
  }
}

/** Connects a client to a fake server and starts the session `s`. */
export async function begun(t, clientOptions = {}, sessionOptions = {}) {
  const here = world(t);
  const fake = await fakeServer(here);
  const connecting = here.connect(fake.path, clientOptions);
  const guest = await fake.guest();
  await guest.welcome();
  const client = await connecting;
  const starting = client.session(sessionOptions);
  const start = await guest.expect("session/start");
  // Sent before the response that names the session.
  guest.event(1, "session");
  guest.answer(start, DETAILS);
  return { here, fake, client, session: await starting, guest, start };
}

/** Collects the first events of an iterator as pairs of cursor and kind. */
export async function first(events, count) {
  const found = [];
  for await (const { cursor, kind } of events) {
    found.push([cursor, kind]);
    if (found.length === count) break;
  }
  return found;
}

/** Waits for an event of a kind. */
export async function untilEvent(session, kind, matches = () => true) {
  for await (const event of session.events()) if (event.kind === kind && matches(event)) return event;
  assert.fail(`the events ended before \`${kind}\``);
}

/** Promise with its functions. */
export function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

function queue() {
  const [items, waiting] = [[], []];
  return {
    push: (item) => (waiting.length ? waiting.shift()(item) : items.push(item)),
    next: () => (items.length ? Promise.resolve(items.shift()) : new Promise((resolve) => waiting.push(resolve))),
  };
}

/** Runs a program to its end. Returns its output and exit status. */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    ...options,
    env: { ...process.env, ...options.env },
  });
  const output = { out: "", err: "" };
  child.stdout.on("data", (data) => (output.out += data));
  child.stderr.on("data", (data) => (output.err += data));
  const [status, signal] = await once(child, "close");
  return { ...output, status: status ?? signal };
}
