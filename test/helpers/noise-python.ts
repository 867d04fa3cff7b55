/** A Python of our own with a public Noise library, and the client in `test/e2e/noise-python` that runs on it. */
import { join } from "node:path";
import { linesOf } from "./lines.ts";
import { pythonSetUpMs, pythonWith } from "./python.ts";

const source = join(import.meta.dir, "../e2e/noise-python");
/** The time for making the Python, in milliseconds. */
export const noisePythonSetUpMs = pythonSetUpMs;

/** The interpreter. Throws an error with the missing package if the Python cannot be made. */
export function noisePython(): Promise<string> {
  return pythonWith("noise-python", join(source, "requirements.txt"));
}

export interface PythonClient {
  send(payload: string): void;
  /**
   * The next message of the client: `ready`, `payload`, `refused` or `closed`; undefined once the client is gone.
   * Events of the index are skipped.
   */
  next(): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** The next payload. Fails if any other message has come. */
  payload(): Promise<string>;
  /** Ends the client's stdin, and resolves with its exit code. */
  stop(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

/**
 * Starts the client with `ws://...`, or with `pipe` and a command, optionally after `--small-frames`. `via` may run it in
 * another namespace.
 */
export async function startPythonClient(
  { id, secret }: Credentials,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  via: (command: readonly string[]) => readonly string[] = (itself) => itself,
): Promise<PythonClient> {
  const child = Bun.spawn([...via([await noisePython(), join(source, "client.py"), ...command])], {
    env: { ...process.env, ...environment, TAPDECK_CLIENT_ID: id, TAPDECK_CLIENT_SECRET: secret },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = linesOf(child.stdout);
  const next = async () => {
    for (;;) {
      const { value } = await lines.next();
      const told = value === undefined ? undefined : JSON.parse(value);
      if (!isAboutIndex(told?.payload)) return told;
    }
  };
  return {
    send(payload) {
      child.stdin.write(`${JSON.stringify(payload)}\n`);
      child.stdin.flush();
    },
    next,
    async payload() {
      const told = await next();
      if (typeof told?.payload !== "string") throw new Error(`no payload, but ${JSON.stringify(told)}`);
      return told.payload;
    },
    async stop() {
      await child.stdin.end();
      return child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** True for a payload about the index, which a service may send at any time soon after its start. */
export function isAboutIndex(payload: unknown): boolean {
  return typeof payload === "string" && payload.includes('"method":"media.indexing"');
}

/** Starts the other side in Python. It takes a hello, sends the reply, and then echoes frame by frame. */
export async function startPythonResponder(secret: string, flags: readonly string[] = []) {
  const child = Bun.spawn([await noisePython(), join(source, "client.py"), ...flags, "respond"], {
    env: { ...process.env, TAPDECK_CLIENT_SECRET: secret },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = linesOf(child.stdout);
  return {
    send(text: string): void {
      child.stdin.write(`${text}\n`);
      child.stdin.flush();
    },
    next: async (): Promise<string> => (await lines.next()).value ?? "",
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
