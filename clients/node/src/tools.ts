// Tools of this program: their definition, their calls, and the conversion of their results for the model.

import { Aborted, brief, PeerFault, TimedOut, ToolFailure, ToolgateError, warn } from "./errors.js";
import { checkOptions, checkType, type OptionTypes } from "./options.js";
import { ErrorCode } from "./protocol.js";
import { onAbort } from "./stop.js";
import type { ContentItem, DynamicTool, ToolInvokeParams, ToolInvokeResult } from "./protocol.js";

/** Time limit of the server for tools without one. */
const DEFAULT_LIMIT_MS = 60_000;

/** Call of a tool. `signal` aborts when the call is cancelled or takes too long, and when the connection ends. */
export interface Invocation extends ToolInvokeParams {
  signal: AbortSignal;
}

/** JSON Schema of the arguments of a tool, an object. */
export type ToolSchema = { readonly type: "object"; readonly [keyword: string]: unknown };

/** Function that a model or `session.call` calls by name. */
export interface Tool<Args = any> {
  /** Letters, digits, `_` and `-`, at most 128 characters. */
  name: string;
  /** Description for the model. */
  description: string;
  /** JSON Schema of the arguments. The server validates them before it calls the tool. */
  schema: ToolSchema;
  /** True if the tool changes nothing, so that it may run in parallel with others. */
  readOnly?: boolean | undefined;
  /** Time limit in milliseconds (60000, at most 600000). */
  timeoutMs?: number | undefined;
  /** Runs the tool. Returns text, `image(…)`, a list of them, or any JSON value. `ToolFailure` fails the call. */
  run(args: Args, call: Invocation): unknown;
}

/** Defines a tool. The type of the arguments follows from the schema. */
export function tool<const S extends ToolSchema>(
  definition: Omit<Tool<FromSchema<S>>, "schema"> & { schema: S },
): Tool {
  check(definition);
  return definition;
}

/** Image for a model, as the result of a tool or in a prompt. */
export function image(data: Uint8Array, mimeType = "image/png"): ContentItem {
  return { type: "image", mime_type: mimeType, data: Buffer.from(data).toString("base64") };
}

/**
 * Type of the values that a JSON Schema describes; `unknown` for what it does not interpret, such as `$ref`.
 * `anyOf` and `oneOf` count in a schema without `type`.
 */
export type FromSchema<S> = S extends { enum: readonly (infer Value)[] }
  ? Value
  : S extends { const: infer Value }
    ? Value
    : S extends { type: readonly (infer Type)[] }
      ? OneOfTypes<Type, S>
      : S extends { type: keyof Simple }
        ? Simple[S["type"]]
        : S extends { type: "array" }
          ? (S extends { items: infer Items } ? FromSchema<Items> : unknown)[]
          : S extends { type: "object" }
            ? Properties<S>
            : S extends { anyOf: readonly (infer Branch)[] } | { oneOf: readonly (infer Branch)[] }
              ? FromSchema<Branch>
              : unknown;
/** The union of the types of `["string", "null"]`. */
type OneOfTypes<Type, S> = Type extends string ? FromSchema<Omit<S, "type"> & { type: Type }> : never;
type Properties<S> = S extends { properties: infer P }
  ? { [K in keyof P as K extends RequiredOf<S> ? K : never]: FromSchema<P[K]> } & {
      [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromSchema<P[K]>;
    } & (S extends { additionalProperties: infer Other } ? Others<Other> : {})
  : S extends { additionalProperties: infer Other }
    ? Others<Other>
    : Record<string, unknown>;
type Others<S> = S extends false ? {} : S extends true ? Record<string, unknown> : Record<string, FromSchema<S>>;
type Simple = { string: string; number: number; integer: number; boolean: boolean; null: null };
type RequiredOf<S> = S extends { required: readonly (infer Name)[] } ? Name : never;

const TOOL_MEMBERS: OptionTypes = {
  name: "string",
  description: "string",
  schema: "object",
  readOnly: "boolean",
  timeoutMs: "number",
  run: "function",
};

/** Throws `TypeError` for a tool that lacks a member, or has one that is unknown or of a wrong type. */
function check(tool: Tool): void {
  checkType("a tool", tool ?? null, "object");
  const place = typeof tool.name === "string" ? `the tool \`${tool.name}\`` : "a tool";
  // An object of a class may have members of its own.
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(tool));
  const { name, description, schema, readOnly, timeoutMs, run } = tool;
  const known = { name, description, schema, readOnly, timeoutMs, run };
  checkOptions(place, isPlain ? tool : known, TOOL_MEMBERS);
  for (const member of ["name", "description", "schema", "run"] as const) {
    if (known[member] === undefined) throw new TypeError(`${place} has no \`${member}\`; ${NEEDED[member]}`);
  }
}

const NEEDED = {
  name: "the model calls it by its name",
  description: "the model reads it",
  schema: 'it is the JSON Schema of the arguments: { type: "object" } for any',
  run: "it is the function that runs the tool",
};

/** Returns the description that the server gets. Throws `TypeError` for a tool that cannot be used. */
export function describe(tool: Tool): DynamicTool {
  check(tool);
  const { name, description, schema, readOnly, timeoutMs } = tool;
  const limit = timeoutMs === undefined ? {} : { timeout_ms: timeoutMs };
  return { name, description, input_schema: schema, read_only: readOnly ?? false, ...limit };
}

/** Answers a call. An error fails the call: the model reads its message, and programs get the kind `io`. */
export async function invoke(tool: Tool | undefined, call: Invocation): Promise<ToolInvokeResult> {
  if (!tool) return { content_items: content(`the client no longer has a tool \`${call.tool}\``), success: false };
  const limited = { ...call, signal: explained(call.signal, tool) };
  try {
    return { content_items: content(await tool.run(call.arguments, limited)), success: true };
  } catch (error) {
    if (error instanceof ToolFailure) throw new PeerFault(ErrorCode.Peer, error.message);
    const what = `the tool \`${call.tool}\` threw an error, which the model gets`;
    if (!call.signal.aborted) warn(`${what}: ${brief(error)}`, error);
    throw new PeerFault(ErrorCode.Peer, String(error));
  }
}

/** Returns a signal that aborts with the other one. Its reason says whether the time limit of the tool was reached. */
function explained(signal: AbortSignal, { name, timeoutMs = DEFAULT_LIMIT_MS }: Tool): AbortSignal {
  const controller = new AbortController();
  const start = performance.now();
  onAbort(signal, () => {
    const isLate = performance.now() - start >= 0.9 * timeoutMs;
    const late = new TimedOut(`the tool \`${name}\` took longer than ${timeoutMs} ms`);
    // A connection that ended gives its own reason.
    if (signal.reason instanceof ToolgateError) controller.abort(signal.reason);
    else controller.abort(isLate ? late : new Aborted("the call was cancelled"));
  });
  return controller.signal;
}

/** Converts the result of a tool: text and content items unchanged, everything else as JSON. */
function content(result: unknown): ContentItem[] {
  if (Array.isArray(result) && result.some(isItem)) return result.flatMap(content);
  if (isItem(result)) return [result];
  if (result === undefined || result === null) return [{ type: "text", text: "done" }];
  const text = typeof result === "string" ? result : JSON.stringify(result, refuseOpaque);
  if (text === undefined) throw new TypeError(`the result, a ${typeof result}, has no JSON form`);
  return [{ type: "text", text }];
}

/** Replacer of `JSON.stringify` that refuses objects whose content would be lost. Buffers convert themselves before. */
function refuseOpaque(this: any, key: string, value: unknown): unknown {
  const given = this[key];
  const isBinary = given instanceof ArrayBuffer || ArrayBuffer.isView(given);
  if (!isBinary && !OPAQUE.some((type) => given instanceof type)) return value;
  const advice = isBinary ? "return text, or `image(bytes)` for an image" : "convert it to text, an array or an object";
  throw new TypeError(`the result has a ${given.constructor.name}, which has no JSON form; ${advice}`);
}
const OPAQUE = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error];

function isItem(value: any): value is ContentItem {
  const type = value?.type;
  if (type === "text") return typeof value.text === "string";
  if (type === "image") return typeof value.data === "string" && typeof value.mime_type === "string";
  return type === "input_image" && typeof value.image_url === "string";
}
