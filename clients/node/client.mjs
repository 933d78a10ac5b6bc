// A client of `toolgate serve` for Node, in one file and without dependencies: requests in both directions, one JSON message a line.
// docs/serve.md is the manual, docs/openrpc.json has every method and every type. `node example.mjs` uses it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    Object.assign(this, { name: "RpcError", code, data });
  }
}

export class Client {
  #process;
  #waiting = new Map();
  #next = 1;

  /** `asked` answers what the server asks, by method; `told` hears what it tells. */
  constructor({ binary = "toolgate", args = ["serve"], asked = {}, told = () => {}, ...options } = {}) {
    this.asked = asked;
    this.told = told;
    this.#process = spawn(binary, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#hear(JSON.parse(line)));
    this.#process.stdin.on("error", () => {});
    this.closed = new Promise((resolve) => {
      this.#process.once("error", (fault) => resolve(this.#left(`the server cannot be started: ${fault.message}`)));
      this.#process.once("close", (code) => resolve(this.#left("the server left", code)));
    });
  }

  static async start({ name = "node", capabilities = {}, ...options } = {}) {
    const client = new Client(options);
    await client.request("initialize", { protocol: 1, client: { name }, capabilities });
    return client;
  }

  request(method, params = {}) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  /** Says that nothing more comes; resolves when the server has ended. */
  close() {
    this.#process.stdin.end();
    return this.closed;
  }

  /** Nobody answers what still waits. */
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
      if (!this.asked[method]) throw new Error(`nobody answers \`${method}\` here`);
      this.#send({ id, result: await this.asked[method](params) });
    } catch (fault) {
      this.#send({ id, error: { code: -32009, message: String(fault.message ?? fault) } });
    }
  }
}
