/**
 * A Python of our own with a public Noise library, and the client in `test/e2e/noise-python` running on it. It is made
 * once, in `build/noise-python`, and made anew when its requirements change.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { linesOf } from "./lines.ts";

const root = join(import.meta.dir, "../..");
const source = join(root, "test/e2e/noise-python");
const home = join(root, "build/noise-python");
/** Milliseconds; making it downloads some 5 MB. */
export const noisePythonSetUpMs = 180_000;

/** The interpreter. Throws with what to install where it cannot be made. */
export async function noisePython(): Promise<string> {
  const python = join(home, "bin/python");
  const requirements = join(source, "requirements.txt");
  const wanted = await readFile(requirements, "utf8");
  const madeFor = join(home, "made-for.txt");
  if ((await readFile(madeFor, "utf8").catch(() => "")) === wanted) return python;
  await rm(home, { recursive: true, force: true });
  await mkdir(join(root, "build"), { recursive: true });
  await run(
    ["python3", "-m", "venv", home],
    "install Python 3.11 or newer with Debian's package python3-venv",
  );
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
  await run([python, ...pip, "--requirement", requirements], "a package index must be within reach once");
  await writeFile(madeFor, wanted);
  return python;
}

async function run(command: readonly string[], hint: string): Promise<void> {
  if (Bun.which(command[0] ?? "") === null) throw new Error(`${command[0]} is missing; ${hint}`);
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const complaints = new Response(child.stderr).text();
  if ((await child.exited) !== 0)
    throw new Error(`${command.join(" ")} failed; ${hint}:\n${await complaints}`);
}

export interface PythonClient {
  send(payload: string): void;
  /** What it told next: `ready`, `payload`, `refused` or `closed`; undefined once it is gone. */
  next(): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** The next payload; fails where something else was told. */
  payload(): Promise<string>;
  /** Ends its stdin, and resolves with its exit code. */
  stop(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

/**
 * Starts the client with `ws://...`, or `pipe` and a command, optionally behind `--small-frames`. `via` may run it
 * somewhere else.
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
    const { value } = await lines.next();
    return value === undefined ? undefined : JSON.parse(value);
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

/** The other side, in Python: hello in, reply out, then it echoes frame by frame. */
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
