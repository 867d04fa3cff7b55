/**
 * A process that holds a store, for tests that kill it, fill its disk or watch its system calls. Its standard output
 * has a line for each of its acts, which is written before it continues.
 *
 * (a question mark precedes a request that is not acknowledged yet)
 *
 *   bun store-child.ts change <folder> <seed>   adds and removes rows until it is killed: `?+id`, `+id`, `?-id`, `-id`
 *   bun store-child.ts fill <folder>            fills a small disk, then reads on: one line of JSON
 *   bun store-child.ts start-full <folder>      starts on a full disk, then makes room: one line of JSON
 *   bun store-child.ts sync <folder>            three rows of each kind between marks: `history`, `clients`, `end`
 */
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../src/core/errors.ts";
import { createLog } from "../../src/core/log.ts";
import { openStore, type Store } from "../../src/store/open.ts";

const [, , what, folder = "", seed = "0"] = process.argv;
const launch = { timeMs: 1, type: "", uid: "", text: "t", data: "", readerId: "", script: "" };
const mapping = { enabled: true, type: "uid", match: "exact", pattern: "04aa", override: "x" } as const;
const role = "member";
const say = (line: string) => writeSync(1, `${line}\n`);

if (what === "change") await change();
if (what === "fill") fill();
if (what === "start-full") startFull();
if (what === "sync") sync();

async function change(): Promise<never> {
  const log = createLog({ debug: false, write: (line) => writeSync(2, `${line}\n`) });
  const { clients, mappings } = openStore(folder, { log });
  const ids = clients.list().map(({ id }) => id);
  for (let number = 0; ; number++) {
    // A deletion starts a copy in the background, so the process is also killed in the middle of a copy.
    const oldest = ids.length >= 20 ? ids.shift() : undefined;
    if (oldest !== undefined) acknowledged(`-${oldest}`, () => clients.remove(oldest));
    const id = `client-${seed}-${number}`;
    const client = { id, name: "x".repeat(100), secret: "0".repeat(64), address: "", role } as const;
    acknowledged(`+${id}`, () => clients.add(client, number));
    ids.push(id);
    const label = `mapping-${seed}-${number}`;
    acknowledged(`+${label}`, () => mappings.add({ ...mapping, label }, number));
    if (number % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function acknowledged(change: string, make: () => void): void {
  say(`?${change}`);
  make();
  say(change);
}

function fill(): void {
  const store = openStore(folder);
  store.clients.add({ id: "first", name: "", secret: "s", address: "", role }, 1);
  const ballast = join(folder, "ballast");
  takeAllSpace(ballast);
  const refusal = refusalOf(store);
  const seen = store.clients.list().map(({ id }) => id);
  store.history.finish(store.history.open(launch));
  const health = messageOf(() => store.check());
  rmSync(ballast);
  store.clients.add({ id: "later", name: "", secret: "s", address: "", role }, 2);
  store.history.finish(store.history.open(launch));
  const healthAfter = messageOf(() => store.check());
  const after = store.clients.list().length;
  const rows = store.history.page({ limit: 10 }).entries.length;
  store.close();
  say(JSON.stringify({ refusal, seen, health, after, rows, healthAfter }));
}

function startFull(): void {
  const client = (id: string) => ({ id, name: "", secret: "s", address: "", role }) as const;
  const first = openStore(folder);
  first.clients.add(client("first"), 1);
  first.close();
  const ballast = join(folder, "ballast");
  takeAllSpace(ballast);
  const store = openStore(folder);
  const seen = store.clients.list().map(({ id }) => id);
  const refusal = messageOf(() => store.clients.add(client("later"), 1));
  rmSync(ballast);
  store.clients.add(client("later"), 1);
  store.close();
  const next = openStore(folder);
  const after = next.clients.list().map(({ id }) => id);
  const health = messageOf(() => next.check());
  next.close();
  say(JSON.stringify({ seen, refusal, after, health }));
}

/** Adds clients until one is refused, because the log may still have room at first. */
function refusalOf({ clients }: Store): { code: string; message: string; added: boolean } | undefined {
  for (let number = 0; number < 200; number++) {
    const id = `more-${number}`;
    try {
      clients.add({ id, name: "n".repeat(4000), secret: "s", address: "", role }, 1);
      clients.remove(id);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { code: error.code, message: error.message, added: clients.get(id) !== undefined };
    }
  }
  return undefined;
}

function takeAllSpace(path: string): void {
  const file = openSync(path, "w");
  try {
    for (const bytes of [65_536, 4096, 1]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(bytes, 1));
      } catch {
        // The disk is full for pieces of this length.
      }
    }
  } finally {
    closeSync(file);
  }
}

function sync(): void {
  const store = openStore(folder);
  say("history");
  for (let number = 0; number < 3; number++) {
    store.history.finish(store.history.open(launch));
    store.history.page({ limit: 1 }).entries;
  }
  say("clients");
  for (let number = 0; number < 3; number++)
    store.clients.add({ id: `${number}`, name: "", secret: "s", address: "", role }, 1);
  say("history again");
  for (let number = 0; number < 3; number++) {
    store.history.finish(store.history.open(launch));
    store.history.page({ limit: 1 }).entries;
  }
  say("end");
  store.close();
}

function messageOf(run: () => void): string {
  try {
    run();
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
