// Client of `toolgate serve` for Node, in one file and without dependencies. Sends and answers JSON-RPC requests, one per line.
// docs/serve.md is the manual. docs/openrpc.json lists every method and type. `node example.mjs` runs an example.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Error response of the server. */
export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    Object.assign(this, { name: "RpcError", code, data });
  }
}

/** A server process and the connection to it. */
export class Client {
  #process;
  #waiting = new Map();
  #next = 1;

  /** Starts the server. `asked` maps methods to functions that answer the server's requests; `told` gets its notifications. */
  constructor({ binary = "toolgate", args = ["serve"], asked = {}, told = () => {}, ...options } = {}) {
    this.asked = asked;
    this.told = told;
    this.#process = spawn(binary, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#hear(JSON.parse(line)));
    this.#process.stdin.on("error", () => {});
    this.closed = new Promise((resolve) => {
      this.#process.once("error", (fault) => resolve(this.#left(`cannot start the server: ${fault.message}`)));
      this.#process.once("close", (code) => resolve(this.#left("the server ended", code)));
    });
  }

  /** Starts the server and sends `initialize`. Returns the client. */
  static async start({ name = "node", capabilities = {}, ...options } = {}) {
    const client = new Client(options);
    await client.request("initialize", { protocol: 1, client: { name }, capabilities });
    return client;
  }

  /** Sends a request. Resolves with its result; rejects with an `RpcError`, or with an `Error` if the server ends. */
  request(method, params = {}) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  /** Closes the server's input, which ends it. Resolves with the exit code when the server has ended. */
  close() {
    this.#process.stdin.end();
    return this.closed;
  }

  /** Rejects all pending requests. */
  #left(why, code = null) {
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
    return code;
  }

  #send(message) {
    this.#process.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  async #hear({ id, method, params, result, error }) {
    if (method === undefined) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      return error ? waiting?.reject(new RpcError(error)) : waiting?.resolve(result);
    }
    if (id === undefined) return this.told(method, params);
    try {
      if (!this.asked[method]) throw new Error(`this client has no handler for \`${method}\``);
      this.#send({ id, result: await this.asked[method](params) });
    } catch (fault) {
      this.#send({ id, error: { code: -32009, message: String(fault.message ?? fault) } });
    }
  }
}
