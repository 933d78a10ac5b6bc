// Limits on waiting: signals, time limits, and promises that a program settles from outside.

import { setMaxListeners } from "node:events";
import { Aborted, ArgumentError, ConnectionLost, TimedOut, ToolgateError } from "./errors.js";

/** Limits of one request. */
export interface RequestOptions {
  /** Rejects the request with `Aborted` and cancels it at the server. */
  signal?: AbortSignal | undefined;
  /** Rejects the request with `TimedOut` after this time and cancels it at the server; 0 for no limit. */
  timeoutMs?: number | undefined;
}

/** Longest time of a timer of Node; a longer one would expire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Directory of this package's code. Its frames say nothing to a caller. */
const OWN_CODE = new URL(".", import.meta.url).href;

/**
 * Runs `work` with a signal that aborts at the limits, with the error as its reason. `work` has to react to it.
 * Errors get the stack of the caller: the stack at the arrival of a response has only frames of this package.
 */
export async function limited<T>(
  options: RequestOptions,
  what: string,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs } = options;
  const caller = currentStack();
  const controller = new AbortController();
  const abort = () =>
    controller.abort(
      signal?.reason instanceof ToolgateError ? signal.reason : new Aborted("the request was aborted", signal?.reason),
    );
  const expire = () => controller.abort(new TimedOut(`${what} took longer than ${timeoutMs} ms`));
  if (signal?.aborted) abort();
  if (signal) onAbort(signal, abort);
  const timer = timeoutMs ? setTimeout(expire, Math.min(timeoutMs, LONGEST_TIMER_MS)) : undefined;
  try {
    controller.signal.throwIfAborted();
    return await work(controller.signal);
  } catch (error) {
    throw withStackOf(caller, error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** The stack of a call. */
export interface CallerStack {
  stack?: unknown;
}

/** Notes the current stack. Cheap: it becomes text only if it is read. */
export function currentStack(): CallerStack {
  const caller: CallerStack = {};
  Error.captureStackTrace(caller, currentStack);
  return caller;
}

/** Returns the error with the stack of the caller. */
export function withStackOf(caller: CallerStack, error: unknown): unknown {
  // Another program may have replaced the format of stacks.
  const isOurs = error instanceof ToolgateError || error instanceof ArgumentError;
  if (!isOurs || typeof caller.stack !== "string") return error;
  const isOwn = (line: string) => line.includes(OWN_CODE) || line.endsWith(".next (<anonymous>)");
  const frames = caller.stack.split("\n").filter((line) => line.startsWith("    at ") && !isOwn(line));
  if (frames.length === 0) return error;
  // One lost connection rejects many requests, and each has a caller of its own.
  const own = error instanceof ConnectionLost ? error.copy() : error;
  own.stack = [`${own.name}: ${own.message}`, ...frames].join("\n");
  return own;
}

/** Waits for a promise, and rejects with the signal's reason as soon as it aborts. */
export function unlessStopped<T>(promise: Promise<T>, stop: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(stop.reason);
    if (stop.aborted) abort();
    onAbort(stop, abort);
    promise.then(resolve, reject).finally(() => stop.removeEventListener("abort", abort));
  });
}

/** Adds a listener. Many requests may share a signal, so Node must not warn of a leak. */
export function onAbort(signal: AbortSignal, listener: () => void): void {
  setMaxListeners(0, signal);
  signal.addEventListener("abort", listener, { once: true });
}

/** Waits for a promise for at most a time. Returns false if the time is over. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<false>((resolve) => (timer = setTimeout(resolve, ms, false)));
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, over]).finally(() => clearTimeout(timer));
}

/** Waits for a time, or until the signal aborts. */
export async function pause(ms: number, stop: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await unlessStopped(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), stop).finally(() =>
    clearTimeout(timer),
  );
}

/** Promise with the functions that settle it. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
}

/** Creates a promise that is resolved from outside. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
