// A session that this program follows: prompts, calls, events, files, patches and processes.

import { ConnectionLost, InvalidParams, RpcError } from "./errors.js";
import type { SessionEvent, ToolErrorKind } from "./event-types.js";
import type { Follower, Handlers } from "./follower.js";
import type { Link, Sending } from "./link.js";
import { checkArgument, checkOptions, type OptionTypes, REQUEST_OPTIONS } from "./options.js";
import { bytes, Process } from "./process.js";
import { ErrorCode, PARAM_TYPES } from "./protocol.js";
import type * as protocol from "./protocol.js";
import { currentStack, limited, onAbort, type RequestOptions, withStackOf } from "./stop.js";
import { describe, type Tool } from "./tools.js";
import { settleTurn, Turn, TurnWatch, withDetail } from "./turn.js";

/** Sandbox mode of commands (docs/sandbox.md). */
export type SandboxMode = "read-only" | "workspace-write" | "external" | "danger-full-access";
/** Approval policy (docs/approval.md). */
export type ApprovalPolicy = "untrusted" | "on-failure" | "on-request" | "never" | "auto" | "disabled";

/** Options of a session. The members of the protocol keep their names; the user's configuration has the defaults. */
export interface SessionOptions extends Omit<protocol.SessionStartParams, "tools" | "sandbox" | "approval">, Handlers {
  sandbox?: SandboxMode;
  approval?: ApprovalPolicy;
}

/** Result of a tool call. `Structured` is the type of its structured data. */
export interface ToolAnswer<Structured = unknown> extends Omit<protocol.ToolCallResult, "error" | "structured"> {
  /** Text of the answer, as a model reads it. */
  text: string;
  /** The kind of error, if the call failed. */
  error?: ToolErrorKind | null;
  /** The answer as structured data, if the tool provides it. */
  structured?: Structured;
}

/** Structured result of `exec_command`. */
export interface CommandResult {
  /** Exit status; null while the command runs, and if a signal ended it. */
  exit_code: number | null;
  /** Name of the signal that ended the command. */
  signal: string | null;
  /** Number of the command for `write_stdin` and `kill_session`, while it runs. */
  session_id: number | null;
  /** Time that the call waited for the command. */
  wall_time_seconds: number;
  /** Tokens of the output before it was shortened. */
  original_token_count: number;
  /** Output since the last answer, as the model reads it. */
  output: string;
  /** The streams; missing if the command has a terminal. */
  stdout?: string;
  stderr?: string;
  /** Processes that outlived the command and were ended. */
  ended: Array<{ pid: number; name: string }>;
  /** Enforcement of the sandbox, and the accesses that it refused, one sentence each. */
  sandbox: { enforcement: string; gaps: string[]; refused: string[]; perhaps_refused: string[] };
}

/** Part of a file. */
export interface FilePart {
  data: Uint8Array;
  /** Data as text; invalid UTF-8 is replaced. */
  text: string;
  /** Size of the whole file in bytes. */
  size: number;
  /** Offset of the next part; null at the end of the file. */
  next: number | null;
}

/** Verdict on a call, with its reasons. */
export interface Explanation {
  verdict: "allow" | "ask" | "forbid";
  why: string[];
  [detail: string]: any;
}

/** Limit of the server on the arguments of a call, in bytes of JSON, and the most bytes that a character takes there. */
const MAX_ARGUMENT_BYTES = 8 << 20;
const MOST_JSON_BYTES = 6;

/** Method of `Session` that sends each request, for messages. */
const SENDERS: Partial<Record<keyof protocol.ServerRequests, string>> = {
  "session/prompt": "prompt",
  "session/interrupt": "interrupt",
  "tool/call": "call",
  "tool/list": "listTools",
  "tool/register": "register",
  "tool/unregister": "unregister",
  "process/start": "startProcess",
  "fs/read": "readFile",
  "fs/write": "writeFile",
  "fs/list": "listDir",
  "fs/search": "search",
  "patch/apply": "applyPatch",
  "policy/explain": "explain",
};

type Params<M extends keyof protocol.ServerRequests> = Omit<protocol.ServerRequests[M]["params"], "session_id">;
type Result<M extends keyof protocol.ServerRequests> = Promise<protocol.ServerRequests[M]["result"]>;
/** Optional parameters of a method, and the limits of the request. */
type Options<M extends keyof protocol.ServerRequests, Given extends string = never> = Omit<Params<M>, Given> &
  RequestOptions;
type Leave = (follower: Follower, method: "session/close" | "session/detach", options: RequestOptions) => Promise<void>;

/** A session that this client follows. `client.session` and `client.attach` create it. */
export class Session implements AsyncDisposable {
  readonly #link: Link;
  readonly #follower: Follower;
  readonly #leave: Leave;

  /** @internal */
  constructor(link: Link, follower: Follower, leave: Leave) {
    this.#link = link;
    this.#follower = follower;
    this.#leave = leave;
  }

  /** ID of the session. `client.attach` finds the session with it. */
  get id(): string {
    return this.#follower.id;
  }

  /** Number of the last event received. Keep it to attach to the session later or from another program. */
  get cursor(): number {
    return this.#follower.log.cursor;
  }

  /** Details from the server: the names of the tools, the working directory, the path of the journal and more. */
  get details(): protocol.SessionDetails {
    return this.#follower.details!;
  }

  /** Yields every event after a cursor, each once and in order, also across reconnects; by default all. */
  events(after?: number): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#follower.log.follow(after);
  }

  /**
   * Sends a prompt to the model. Await the turn for its result, or iterate over its events. A turn that fails is no
   * rejection but a warning: `ended` and `detail` say how it ended, and `turn.throwUnlessDone()` rejects then. A prompt
   * during a turn is added to it, and ends as `steered`. Aborting stops the turn; a `for await` that is left early does
   * not.
   */
  prompt(text: string, options: { images?: protocol.ContentItem[] } & RequestOptions = {}): Turn {
    checkArgument("`text` of `session.prompt`", text, "string");
    checkOptions("`session.prompt`", options, { images: "array", ...REQUEST_OPTIONS });
    const { images, ...limits } = options;
    return new Turn(this.#follower.log, this.#prompt(images ? { text, images } : { text }, limits));
  }

  /** Calls a tool without a model. A call runs only once per `key`; by default each call has a new key. */
  async call<Name extends string>(
    tool: Name,
    args: Record<string, unknown> = {},
    options: Options<"tool/call", "tool" | "arguments"> = {},
  ): Promise<ToolAnswer<Name extends "exec_command" ? CommandResult : unknown>> {
    checkArgument("`tool` of `session.call`", tool, "string");
    const params = { tool, arguments: args, key: crypto.randomUUID(), ...options };
    const result = await this.#send("tool/call", params, { again: true });
    const texts = result.content_items.map((item) => ("text" in item ? [item.text] : []));
    return { ...(result as ToolAnswer<any>), text: texts.flat().join("\n") };
  }

  /** Lists the tools of the session. */
  async listTools(options: RequestOptions = {}): Promise<protocol.ToolDescription[]> {
    return (await this.#send("tool/list", options, { again: true })).tools;
  }

  /** Adds tools, replacing those of the same name. Returns the names of all tools of clients. */
  async register(tools: readonly Tool[], options: RequestOptions = {}): Promise<string[]> {
    checkArgument("`tools` of `session.register`", tools, "array");
    const params = { tools: tools.map(describe), ...options };
    const known = this.#follower.tools;
    const before = [...known];
    // Added before the request: a call may arrive before the response.
    for (const each of tools) known.set(each.name, each);
    try {
      return (await this.#send("tool/register", params, { again: true })).tools;
    } catch (error) {
      if (error instanceof RpcError) {
        known.clear();
        for (const [name, each] of before) known.set(name, each);
      }
      throw error;
    }
  }

  /** Removes tools. Returns the names of the remaining tools of clients. */
  async unregister(names: readonly string[], options: RequestOptions = {}): Promise<string[]> {
    checkArgument("`names` of `session.unregister`", names, "array");
    const left = await this.#send("tool/unregister", { names: [...names], ...options }, { again: true });
    for (const name of names) this.#follower.tools.delete(name);
    return left.tools;
  }

  /** Starts a script, or a program with its arguments. `tty` gives it a terminal, `stdin` an input. */
  async startProcess(
    command: string | readonly string[],
    options: Options<"process/start", "command" | "argv"> = {},
  ): Promise<Process> {
    checkArgument("`command` of `session.startProcess`", command, "string|array");
    const what = typeof command === "string" ? { command } : { argv: [...command] };
    const started = await this.#send(
      "process/start",
      { ...what, ...options },
      {
        // The request was aborted, so the process would have no reader.
        late: ({ process_id }) => void this.#send("process/kill", { process_id }).catch(() => {}),
      },
    );
    return new Process(this.#link, this.#follower, started.process_id);
  }

  /** Reads a file or a part of it. */
  async readFile(path: string, options: Options<"fs/read", "path"> = {}): Promise<FilePart> {
    checkArgument("`path` of `session.readFile`", path, "string");
    const part = await this.#send("fs/read", { path, ...options }, { again: true });
    const data = bytes(part);
    return { data, text: part.text ?? data.toString("utf8"), size: part.size, next: part.next ?? null };
  }

  /**
   * Writes a whole file atomically. With `new`, an existing file is an error. The server takes 8 MiB of JSON: 8 MiB of
   * plain text, or 6 MiB of bytes. More is rejected with `InvalidParams`.
   */
  async writeFile(
    path: string,
    data: string | Uint8Array,
    options: { new?: boolean } & RequestOptions = {},
  ): Result<"fs/write"> {
    checkArgument("`path` of `session.writeFile`", path, "string");
    checkArgument("`data` of `session.writeFile`", data, "string|Uint8Array");
    const content: { text: string } | { base64: string } =
      typeof data === "string" ? { text: data } : { base64: Buffer.from(data).toString("base64") };
    checkLength({ path, ...content });
    // Not sent again with `new`: the second request would find the file of the first.
    return this.#send("fs/write", { path, ...content, ...options }, { again: !options.new });
  }

  /** Lists a directory; by default the working directory. */
  listDir(path = "", options: Options<"fs/list", "path"> = {}): Result<"fs/list"> {
    return this.#send("fs/list", { path, ...options }, { again: true });
  }

  /** Searches files for a regular expression. */
  async search(pattern: string, options: Options<"fs/search", "pattern"> = {}): Result<"fs/search"> {
    checkArgument("`pattern` of `session.search`", pattern, "string");
    return this.#send("fs/search", { pattern, ...options }, { again: true });
  }

  /** Applies a patch in any supported format, all or nothing, and only once per `key`. */
  async applyPatch(patch: string, options: Options<"patch/apply", "patch"> = {}): Result<"patch/apply"> {
    checkArgument("`patch` of `session.applyPatch`", patch, "string");
    return this.#send("patch/apply", { patch, key: crypto.randomUUID(), ...options }, { again: true });
  }

  /** Returns the verdict on a script, a program with its arguments, or a call, without running it. */
  async explain(
    what: string | readonly string[] | { tool: string; arguments?: Record<string, unknown> },
    options: RequestOptions = {},
  ): Promise<Explanation> {
    checkArgument("the call of `session.explain`", what, "string|array|object");
    const program = Array.isArray(what) ? { tool: "shell", arguments: { command: what } } : what;
    const params = typeof program === "string" ? { command: program } : (program as Params<"policy/explain">);
    return (await this.#send("policy/explain", { ...params, ...options }, { again: true })).explanation as Explanation;
  }

  /** Stops the running turn. */
  async interrupt(options: RequestOptions = {}): Promise<void> {
    await this.#send("session/interrupt", options);
  }

  /** Ends the session and everything that runs in it. The journal stays. */
  async close(options: RequestOptions = {}): Promise<void> {
    checkOptions("`session.close`", options, REQUEST_OPTIONS);
    return this.#leave(this.#follower, "session/close", options);
  }

  /** Stops following the session and leaves it running. */
  async detach(options: RequestOptions = {}): Promise<void> {
    checkOptions("`session.detach`", options, REQUEST_OPTIONS);
    return this.#leave(this.#follower, "session/detach", options);
  }

  /** Ends the session, unless it was detached or its connection is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#follower.log.isOver) return;
    await this.close().catch((error) => {
      if (!(error instanceof ConnectionLost)) throw error;
    });
  }

  /** Sends any request about this session. */
  async request<M extends keyof protocol.ServerRequests>(
    method: M,
    params: Params<M>,
    options: RequestOptions = {},
  ): Result<M> {
    checkOptions("`session.request`", options, REQUEST_OPTIONS);
    return this.#link.request(method, { session_id: this.id, ...params }, options);
  }

  /** Sends a request. The limits are among the options of the caller, beside the parameters. */
  async #send<M extends keyof protocol.ServerRequests>(
    method: M,
    options: Params<M> & RequestOptions,
    sending: Sending = {},
  ): Result<M> {
    const { session_id: _, ...types }: OptionTypes = PARAM_TYPES[method];
    checkOptions(`\`session.${SENDERS[method] ?? method}\``, options, { ...types, ...REQUEST_OPTIONS });
    const { signal, timeoutMs, ...params } = options as RequestOptions;
    return this.#link.request(method, { session_id: this.id, ...params }, { signal, timeoutMs, ...sending });
  }

  #prompt(params: Params<"session/prompt">, limits: RequestOptions): Result<"session/prompt"> {
    return limited(limits, "the turn", async (stop) => {
      onAbort(stop, () => {
        this.interrupt().catch(() => {});
        this.#follower.log.wake();
      });
      // ends: each round is a connection that was lost, and the link gives up within bounds
      for (;;) {
        const watch = new TurnWatch();
        this.#follower.watches.add(watch);
        try {
          return withDetail(await this.#send("session/prompt", params, { signal: stop, timeoutMs: 0 }));
        } catch (error) {
          if (!this.#link.isRecoverable(error)) throw error;
          const outcome = await settleTurn(watch, this.#follower, this.#link, stop);
          if (outcome) return withDetail(outcome);
        } finally {
          this.#follower.watches.delete(watch);
        }
      }
    });
  }
}

/** Throws `InvalidParams` for a file that the server would not take. */
function checkLength(params: { path: string } & ({ text: string } | { base64: string })): void {
  const data = "text" in params ? params.text : params.base64;
  if (data.length < MAX_ARGUMENT_BYTES / MOST_JSON_BYTES) return;
  const bytes = Buffer.byteLength(JSON.stringify(params));
  if (bytes <= MAX_ARGUMENT_BYTES) return;
  const limit = `the limit is ${MAX_ARGUMENT_BYTES} bytes of JSON, and this is ${bytes}`;
  const advice = "write it in parts, and join them with a command: `cat PART… > FILE`";
  const error = new InvalidParams(ErrorCode.Params, `\`${params.path}\` is too long for \`writeFile\`: ${limit}; ${advice}`);
  throw withStackOf(currentStack(), error);
}
