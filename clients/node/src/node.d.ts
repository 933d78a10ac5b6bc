// The part of Node's API that this package uses, so that the compiler is its only development dependency.

declare module "node:stream" {
  export interface Readable {
    on(event: "data", listener: (chunk: Buffer) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    once(event: "close", listener: () => void): this;
    destroy(error?: Error): this;
  }
  export interface Writable {
    on(event: "error", listener: (error: Error) => void): this;
    write(text: string): boolean;
    end(): this;
  }
}

declare module "node:child_process" {
  import type { Readable, Writable } from "node:stream";
  export interface ChildProcess {
    readonly stdin: Writable;
    readonly stdout: Readable;
    readonly pid?: number;
    kill(signal: string): boolean;
    on(event: "error", listener: (error: Error & { code?: string }) => void): this;
    on(event: "exit", listener: (code: number | null, signal: string | null) => void): this;
    once(event: "exit", listener: (code: number | null, signal: string | null) => void): this;
    once(event: "spawn", listener: () => void): this;
  }
  export function spawn(
    command: string,
    args: readonly string[],
    options: {
      cwd?: string | undefined;
      env?: Record<string, string | undefined>;
      stdio: "inherit" | Array<"pipe" | "inherit" | "ignore">;
      detached?: boolean;
    },
  ): ChildProcess;
}

declare module "node:net" {
  import type { Readable } from "node:stream";
  export interface Socket extends Readable {
    once(event: "close" | "connect" | "end", listener: () => void): this;
    write(text: string): boolean;
    destroySoon(): void;
  }
  export function connect(options: { path: string }): Socket;
}

declare module "node:events" {
  export function setMaxListeners(count: number, target: EventTarget): void;
}

declare module "node:fs" {
  export const constants: { X_OK: number };
  export function accessSync(path: string, mode: number): void;
  export function existsSync(path: string): boolean;
  export function realpathSync(path: string): string;
  export function statSync(path: string): { isFile(): boolean };
}

declare module "node:module" {
  export function createRequire(url: string): { resolve(id: string): string };
}

declare module "node:os" {
  export const constants: { signals: Record<string, number> };
}

declare module "node:path" {
  export const delimiter: string;
  export function join(...parts: string[]): string;
}

declare module "node:url" {
  export function fileURLToPath(url: URL): string;
}

interface Buffer extends Uint8Array {
  toString(encoding?: "utf8" | "base64"): string;
  subarray(start: number, end?: number): Buffer;
}
declare const Buffer: {
  from(data: Uint8Array): Buffer;
  from(text: string, encoding: "utf8" | "base64"): Buffer;
  concat(parts: readonly Uint8Array[]): Buffer;
  byteLength(text: string): number;
};

interface ErrorConstructor {
  captureStackTrace(target: object, above?: (...args: never[]) => unknown): void;
}

interface ImportMeta {
  url: string;
}

declare const process: {
  readonly argv: string[];
  readonly env: Record<string, string | undefined>;
  readonly platform: string;
  readonly arch: string;
  exitCode: number | undefined;
  emitWarning(warning: Error): void;
  kill(pid: number, signal: string): void;
  on(signal: "SIGINT" | "SIGTERM" | "SIGHUP", listener: () => void): typeof process;
};
