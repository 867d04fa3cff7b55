/** The service in a virtual machine, and its output: notifications, its log, and the kernel's messages. */
import { join } from "node:path";
import { type Guest, type GuestOptions, startGuest } from "./guest.ts";
import { createMachinePort, type MachinePort } from "./port.ts";

const waitMs = 300_000; // The time for work that takes a second on a machine that is not busy and does not emulate another.
const pollMs = 20;
/** For a person at a terminal, the limit is three seconds. On a busy machine here, a command may need more. */
export const command = `tapdeck --data=/data --timeout=${waitMs}`;

export interface DeckOptions extends Omit<GuestOptions, "files"> {
  /** A folder for sockets. */
  readonly folder: string;
  readonly config: string;
  readonly files: Readonly<Record<string, string>>;
}

export interface Deck extends AsyncDisposable {
  readonly guest: Guest;
  /** Starts the service; resolves once it answers and its notifications are recorded. */
  start(): Promise<void>;
  /** The number of notifications so far. */
  readonly heard: () => number;
  /** The number of notifications with this method and these words. The first `from` notifications do not count. */
  count(from: number, method: string, words: string): number;
  tells(from: number, method: string, words: string): Promise<void>;
  /** The log of the service. */
  readonly log: () => string;
  /** Waits for these words in the log, after the last match. */
  logs(words: string): Promise<void>;
  waitFor(what: string, holds: () => boolean | Promise<boolean>): Promise<void>;
}

/** Starts the machine, and waits until its shell answers. The service is not started yet. */
export async function startDeck({ folder, config, ports, files, ...options }: DeckOptions): Promise<Deck> {
  const [events, log] = ["events", "log"].map((name) => createMachinePort(join(folder, name)));
  if (events === undefined || log === undefined) throw new Error("two ports were asked for");
  const heard: { readonly method: string; readonly line: string }[] = [];
  onLines(events, (line) => {
    if (line.startsWith("{")) heard.push({ method: JSON.parse(line).method, line });
  });
  let logged = "";
  let loggedTo = 0;
  onLines(log, (line) => {
    logged += `${line}\n`;
  });
  const guest = await startGuest({
    ...options,
    ports: { ...ports, events: events.path, log: log.path },
    files: { ...files, "/data/config.toml": config },
  });

  const waitFor: Deck["waitFor"] = async (what, holds) => {
    const deadline = performance.now() + waitMs;
    while (!(await holds())) {
      if (performance.now() > deadline || guest.hasEnded()) {
        const told = heard.slice(-12).map(({ line }) => line);
        const seen = [guest.console().slice(-3000), logged.slice(-5000), ...told].join("\n");
        throw new Error(`no ${what}:\n${seen}`);
      }
      await Bun.sleep(pollMs);
    }
  };
  const count: Deck["count"] = (from, method, words) =>
    heard.slice(from).filter((one) => one.method === method && one.line.includes(words)).length;
  const tells: Deck["tells"] = (from, method, words) =>
    waitFor(`${method} of ${words}`, () => count(from, method, words) > 0);
  return {
    guest,
    heard: () => heard.length,
    count,
    tells,
    log: () => logged,
    logs: (words) =>
      waitFor(`"${words}" in the log`, () => {
        const at = logged.indexOf(words, loggedTo);
        if (at >= 0) loggedTo = at + words.length;
        return at >= 0;
      }),
    waitFor,
    async start() {
      const service = "echo $$ > /tmp/pid; exec tapdeck --data=/data";
      await guest.ask(`sh -c '${service}' < /dev/null 2>&1 | cat > /dev/log &`);
      await waitFor("service that listens", () => logged.includes("service: listening"));
      await guest.ask(`${command} watch --json < /dev/null | cat > /dev/events &`);
      // The command prints nothing when it begins to listen, so the test causes events for it.
      await waitFor("notification", async () => {
        await guest.ask(`${command} call media.index < /dev/null 2>&1`);
        return count(0, "media.indexing", "") > 0;
      });
    },
    async [Symbol.asyncDispose]() {
      await guest[Symbol.asyncDispose]();
      events.close();
      log.close();
    },
  };
}

function onLines(port: MachinePort, take: (line: string) => void): void {
  const decoder = new TextDecoder();
  let rest = "";
  port.onBytes((bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  });
}
