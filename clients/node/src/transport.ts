// Transports to a server: a child process, a Unix socket, a WebSocket. Each carries one message at a time.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import { CannotConnect, ConnectionLost, ProtocolError } from "./errors.js";
import { findProgram } from "./program.js";
import { onAbort, settlesWithin } from "./stop.js";

/** Longest message in bytes: a journal line has at most 16 MiB, plus its JSON-RPC envelope. */
export const LONGEST_MESSAGE = 32 << 20;
/** Time that a server may take to exit, and a socket to send its last data, before it is ended. */
const LEAVE_MS = 5000;
/** Longest path of a Unix socket in bytes. Node would cut off the rest. */
const LONGEST_PATH = 107;
/** Time to wait for the exit status of a server that closed its output, or for the output of one that has exited. */
const STATUS_MS = 1000;
const NEWLINE = 10;

/** Gets the messages of a transport. `end` is called once or more; the first reason counts. */
export interface Receiver {
  receive(message: string): void;
  end(error: ConnectionLost): void;
}

/** Carries messages to the server. */
export interface Transport {
  send(message: string): void;
  close(): Promise<void>;
  /** What to try if the connection ends before the first response, and whether a retry may help. */
  readonly hint: string;
  /** The other side, for messages. */
  readonly place: string;
  readonly retryable: boolean;
}

export type Opener = (receiver: Receiver, stop: AbortSignal) => Promise<Transport>;

/** Options of a server that the client starts. */
export interface ServerOptions {
  /** Program to start; by default TOOLGATE_BIN, a packaged program, or the one in PATH. */
  command?: string | undefined;
  /** Its arguments (`["serve"]`). */
  args?: readonly string[] | undefined;
  /** Working directory of the server. */
  cwd?: string | undefined;
  /** Variables that are added to the environment of this program. */
  env?: Record<string, string | undefined> | undefined;
  /** Destination of the server's messages on standard error (`"inherit"`). */
  stderr?: "inherit" | "ignore" | undefined;
  /** Time in milliseconds that the server may take to exit when the client closes, before it is killed (5000). */
  killAfterMs?: number | undefined;
}

/** Starts a server and talks to its standard input and output. */
export function childServer(options: ServerOptions): Opener {
  return (receiver) =>
    new Promise((resolve, reject) => {
      const command = findProgram(options.command);
      const args = options.args ?? ["serve"];
      // A separate session: Ctrl-C in our terminal must not reach the server.
      const child = spawn(command, args, {
        cwd: options.cwd,
        env: { ...process.env, ...options.env },
        stdio: ["pipe", "pipe", options.stderr ?? "inherit"],
        detached: true,
      });
      child.on("error", (error) => reject(notStarted(command, options.cwd, error)));
      child.once("spawn", () => {
        const place = `\`${[command, ...args].join(" ")}\``;
        resolve(new ChildTransport(child, place, receiver, options.killAfterMs ?? LEAVE_MS));
      });
    });
}

function notStarted(command: string, cwd: string | undefined, error: Error & { code?: string }): CannotConnect {
  const place = cwd !== undefined && !existsSync(cwd) ? `: there is no directory ${cwd}` : "";
  const hint =
    error.code === "ENOENT" && !place
      ? "; is Toolgate installed? The option `command` or TOOLGATE_BIN names the program"
      : "";
  const retryable = ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(error.code ?? "");
  return new CannotConnect(`\`${command}\` cannot be started: ${error.message}${place}${hint}`, retryable, error);
}

class ChildTransport implements Transport {
  readonly hint = "see its messages on standard error, if any, and check that it is Toolgate";
  // It would fail again.
  readonly retryable = false;
  readonly #exited: Promise<string>;

  constructor(
    readonly child: ChildProcess,
    readonly place: string,
    receiver: Receiver,
    readonly killAfterMs: number,
  ) {
    this.#exited = new Promise((resolve) => {
      child.once("exit", (code, signal) =>
        resolve(signal === null ? `ended with exit status ${code}` : `was ended by ${signal}`),
      );
    });
    const drained = new Promise<void>((resolve) => child.stdout.once("close", resolve));
    const broken = new Promise<void>((resolve) => child.stdin.on("error", () => resolve()));
    readLines(child.stdout, receiver);
    void this.#watch(drained, broken, receiver);
  }

  /** Ends the connection when the server exits or closes a pipe. Waits shortly for the exit status, which says most. */
  async #watch(drained: Promise<void>, broken: Promise<void>, receiver: Receiver): Promise<void> {
    await Promise.race([this.#exited, drained, broken]);
    await settlesWithin(Promise.all([this.#exited, drained]), STATUS_MS);
    const why = await Promise.race([this.#exited, Promise.resolve("closed its input or output")]);
    receiver.end(new ConnectionLost(`the connection is lost: ${this.place} ${why}`));
  }

  send(message: string): void {
    this.child.stdin.write(`${message}\n`);
  }

  async close(): Promise<void> {
    // Closes the output too: otherwise the server would first answer pending requests.
    this.child.stdout.destroy();
    this.child.stdin.end();
    if (await settlesWithin(this.#exited, this.killAfterMs)) return;
    try {
      // The process group: a descendant of a wrapper script could stay.
      process.kill(-this.child.pid!, "SIGKILL");
    } catch {
      // It has just exited.
    }
    await this.#exited;
  }
}

/** Connects to the Unix socket of `toolgate serve --socket PATH`. */
export function unixSocket(path: string): Opener {
  const lost = () => new ConnectionLost(`the connection is lost: the server at ${path} closed it`);
  return (receiver, stop) =>
    new Promise((resolve, reject) => {
      if (Buffer.byteLength(path) > LONGEST_PATH) throw new CannotConnect(`the path is too long for a socket: ${path}`);
      const socket = connect({ path });
      const closed = new Promise<void>((done) => socket.once("close", () => done()));
      onAbort(stop, () => (reject(stop.reason), socket.destroy()));
      socket.on("error", (error) => reject(notAtSocket(path, error)));
      socket.once("end", () => receiver.end(lost()));
      void closed.then(() => receiver.end(lost()));
      socket.once("connect", () => {
        readLines(socket, receiver);
        resolve({
          place: `the server at ${path}`,
          hint: "it accepts only the user who started it, and no program that a tool has started",
          retryable: true,
          send: (message) => void socket.write(`${message}\n`),
          close: async () => {
            // A half-closed connection would stay open until the server has answered everything.
            socket.destroySoon();
            if (!(await settlesWithin(closed, LEAVE_MS))) socket.destroy();
          },
        });
      });
    });
}

function notAtSocket(path: string, error: Error & { code?: string }): CannotConnect {
  const start = `\`toolgate serve --socket ${path}\` starts a server there`;
  const why: Record<string, string> = {
    ENOENT: `there is no socket ${path}; ${start}`,
    ECONNREFUSED: `no server listens at ${path}; ${start}`,
    EACCES: `permission denied for the socket ${path}; only the user who started its server can connect`,
  };
  const message = why[error.code ?? ""] ?? `cannot connect to the socket ${path}: ${error.message}`;
  return new CannotConnect(message, ["ENOENT", "ECONNREFUSED", "EAGAIN"].includes(error.code ?? ""), error);
}

/** Connects to the WebSocket of `toolgate serve --websocket ADDRESS`, with the server's token. */
export function webSocket(url: string, token: string): Opener {
  return (receiver, stop) =>
    new Promise((resolve, reject) => {
      if (globalThis.WebSocket === undefined) {
        throw new CannotConnect("this Node has no WebSocket: use Node 22 or newer, or a Unix socket");
      }
      if (!URL.canParse(url)) throw new CannotConnect(`${url} is not a WebSocket URL such as ws://127.0.0.1:8719`);
      const start =
        "`toolgate serve --websocket 127.0.0.1:PORT` starts a server, and prints its URL and the location of its token";
      // Node accepts headers here. A token that was read from a file may end with a newline.
      const options = { headers: { Authorization: `Bearer ${token.trim()}` } };
      const socket = new WebSocket(url, options as unknown as string[]);
      const closed = new Promise<void>((done) => {
        socket.addEventListener("close", () => done());
        // Node 20 sends no `close` after a failed handshake.
        socket.addEventListener("error", () => done());
      });
      onAbort(stop, () => (reject(stop.reason), socket.close()));
      socket.addEventListener("message", ({ data }) => receiver.receive(String(data)));
      void closed.then(() => {
        reject(
          new CannotConnect(`cannot connect to ${url}: no server is there, or it rejects the token; ${start}`, true),
        );
        receiver.end(new ConnectionLost(`the connection is lost: the server at ${url} closed it`));
      });
      socket.addEventListener("open", () =>
        resolve({
          place: `the server at ${url}`,
          hint: "the server may be shutting down",
          retryable: true,
          send: (message) => socket.send(message),
          close: async () => {
            socket.close();
            await settlesWithin(closed, LEAVE_MS);
          },
        }),
      );
    });
}

/** Splits a stream into lines. A line that is too long ends the connection; an incomplete last line is dropped. */
function readLines(input: Readable, receiver: Receiver): void {
  let parts: Uint8Array[] = [];
  let size = 0;
  input.on("error", () => {});
  input.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(parts).toString("utf8");
      parts = [];
      size = 0;
      receiver.receive(line);
    }
    parts.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size <= LONGEST_MESSAGE) return;
    parts = [];
    receiver.end(new ProtocolError(`the server sent a message of more than ${LONGEST_MESSAGE} bytes`));
    input.destroy();
  });
}
