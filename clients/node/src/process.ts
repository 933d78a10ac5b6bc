// Process in a session's sandbox: its output, input, signals and exit status.

import { NoSuchProcess } from "./errors.js";
import type { Follower } from "./follower.js";
import type { Link, Sending } from "./link.js";
import { checkArgument, checkOptions, REQUEST_OPTIONS } from "./options.js";
import type { ProcessReadResult, ServerRequests } from "./protocol.js";
import { currentStack, type RequestOptions, withStackOf } from "./stop.js";

/** Time that the server waits for output before it answers without any. This is the server's maximum. */
const WAIT_MS = 30_000;

/** Piece of output from `stdout`, `stderr` or the `terminal`. */
export interface Piece {
  stream: string;
  data: Uint8Array;
  /** Data as text; invalid UTF-8 is replaced. A character that two pieces share is in the text of the second. */
  text: string;
}

/** All output of a process. Output of a terminal is in `stdout`. */
export interface ProcessOutput {
  stdout: string;
  stderr: string;
  /** Exit status; null if the process was killed together with its supervisor. */
  exitCode: number | null;
}

/** A process started by `session.startProcess`. It blocks if its output is not read. */
export class Process implements AsyncIterable<Piece>, AsyncDisposable {
  /** Exit status; null while the process runs. */
  exitCode: number | null = null;
  readonly #link: Link;
  readonly #follower: Follower;
  /** `resumed` of the session when the process was started. */
  readonly #resumed: number;
  readonly #ids: { session_id: string; process_id: number };
  /** Offset of the next output to read, in bytes. */
  #position = 0;
  /** The last read, which reported the end of the process. */
  #last: ProcessReadResult | undefined;
  /** Decoders by stream: a character may begin in one piece and end in the next. */
  readonly #decoders = new Map<string, TextDecoder>();

  /** @internal */
  constructor(link: Link, follower: Follower, process: number) {
    this.#link = link;
    this.#follower = follower;
    this.#resumed = follower.resumed;
    this.#ids = { session_id: follower.id, process_id: process };
  }

  /** ID of the process within its session. */
  get id(): number {
    return this.#ids.process_id;
  }

  /** Reads the next output, and waits for it. Returns an empty list at the end. Aborting loses no output. */
  async read(options: RequestOptions = {}): Promise<Piece[]> {
    checkOptions("`process.read`", options, REQUEST_OPTIONS);
    if (this.#last) return [];
    const params = { from: this.#position, wait_ms: WAIT_MS };
    try {
      const output = await this.#request("process/read", params, {
        ...options,
        again: true,
        late: (late) => this.#note(late),
      });
      this.#position = output.next;
      this.#note(output);
      return this.#decode(output);
    } catch (error) {
      // The server forgets a process after it reports the end. An aborted read may have received that report.
      if (!(error instanceof NoSuchProcess) || !this.#last) throw error;
      return this.#decode(this.#last as ProcessReadResult);
    }
  }

  /** Yields all output until the process ends. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Piece, void, undefined> {
    while (!this.#last) yield* await this.read();
  }

  /** Waits until the process ends, and returns all its output. `input` is written first, and the input then closed. */
  async output(input?: string): Promise<ProcessOutput> {
    if (input !== undefined) await this.write(input, { close: true });
    const pieces: Piece[] = [];
    for await (const each of this) pieces.push(each);
    const text = (isError: boolean) => {
      const data = pieces.filter((each) => (each.stream === "stderr") === isError).map((each) => each.data);
      return Buffer.concat(data).toString("utf8");
    };
    return { stdout: text(false), stderr: text(true), exitCode: this.exitCode };
  }

  /** Writes to the input of the process; `close` closes the input afterwards. */
  async write(text: string, options: { close?: boolean } & RequestOptions = {}): Promise<void> {
    checkArgument("`text` of `process.write`", text, "string");
    checkOptions("`process.write`", options, { close: "boolean", ...REQUEST_OPTIONS });
    const { close = false, ...limits } = options;
    await this.#request("process/write", { text, close }, limits);
  }

  /** Changes the size of the terminal. */
  async resize(rows: number, cols: number, options: RequestOptions = {}): Promise<void> {
    checkOptions("`process.resize`", options, REQUEST_OPTIONS);
    await this.#request("process/resize", { size: { rows, cols } }, { ...options, again: true });
  }

  /** Sends a signal to the process and its group: `INT`, `TERM`, `HUP`, `QUIT`, `USR1`, `USR2`, `STOP` or `CONT`. */
  async signal(name: string, options: RequestOptions = {}): Promise<void> {
    checkOptions("`process.signal`", options, REQUEST_OPTIONS);
    await this.#request("process/signal", { signal: name }, options);
  }

  /** Kills the process and its descendants. */
  async kill(options: RequestOptions = {}): Promise<void> {
    checkOptions("`process.kill`", options, REQUEST_OPTIONS);
    await this.#request("process/kill", {}, { ...options, again: true });
  }

  /** Kills the process unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#last) await this.kill().catch(() => {});
  }

  #decode(output: ProcessReadResult): Piece[] {
    const pieces = output.pieces.map((chunk) => {
      const data = bytes(chunk);
      const decoder = this.#decoders.get(chunk.stream) ?? new TextDecoder("utf-8", { ignoreBOM: true });
      this.#decoders.set(chunk.stream, decoder);
      return { stream: chunk.stream, data, text: decoder.decode(data, { stream: true }) };
    });
    if (output.state === "running") return pieces;
    for (const [stream, decoder] of this.#decoders) {
      const rest = decoder.decode();
      const last = pieces.findLast((each) => each.stream === stream);
      if (last) last.text += rest;
      else if (rest) pieces.push({ stream, data: new Uint8Array(), text: rest });
    }
    return pieces;
  }

  #note(output: ProcessReadResult): void {
    if (output.state === "running") return;
    this.#last = output;
    this.exitCode = output.exit_code ?? null;
  }

  async #request<M extends keyof ServerRequests>(
    method: M,
    params: object,
    options?: Sending,
  ): Promise<ServerRequests[M]["result"]> {
    const caller = currentStack();
    try {
      return await this.#link.request(method, { ...this.#ids, ...params }, options);
    } catch (error) {
      if (!(error instanceof NoSuchProcess) || this.#follower.resumed === this.#resumed) throw error;
      const message = `process ${this.id} ended with its server; a new server continues the session without it`;
      throw withStackOf(caller, new NoSuchProcess(error.code, message, error.data));
    }
  }
}

/** @internal Decodes data that the server sends as text if it is UTF-8, otherwise as base64. */
export function bytes(encoded: { text?: string | null; base64?: string | null }): Buffer {
  return typeof encoded.base64 === "string"
    ? Buffer.from(encoded.base64, "base64")
    : Buffer.from(encoded.text ?? "", "utf8");
}
