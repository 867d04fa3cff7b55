import { afterEach, expect, test } from "bun:test";
import { chmodSync, copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../src/core/errors.ts";
import { clientsMax, pairingLinkMs } from "../../../src/core/limits.ts";
import type { StoredClient } from "../../../src/store/client-table.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, open, close, clean } = createStores();
afterEach(clean);

const client = (id: string): StoredClient => ({
  id,
  name: `name of ${id}`,
  secret: "ab".repeat(32),
  address: "",
  role: "member",
  added: "1970-01-01T00:00:00.001Z",
});

test("clients are listed in the order in which they were added, also after a restart", () => {
  const folder = newFolder();
  const first = open(folder);
  for (const id of ["b", "a", "c"]) first.clients.add(client(id), 1);
  close(first);
  expect(open(folder).clients.list()).toEqual([client("b"), client("a"), client("c")]);
});

test("a client is found by its id, and an unknown one is not", () => {
  const { clients } = open(newFolder());
  clients.add(client("a"), 1);
  expect(clients.get("a")).toEqual(client("a"));
  expect(clients.get("b")).toBeUndefined();
});

test("a removed client is gone after a restart too, and removing it again tells that there was none", () => {
  const folder = newFolder();
  const first = open(folder);
  first.clients.add(client("a"), 1);
  expect(first.clients.remove("a")).toBe(true);
  expect(first.clients.remove("a")).toBe(false);
  close(first);
  expect(open(folder).clients.list()).toEqual([]);
});

const startMs = 1_800_000_000_000;
const at = (ms: number) => new Date(ms).toISOString();

test("the address and the time of a client's last use are kept, over restarts too", () => {
  const [folder, clock] = [newFolder(), createManualClock(startMs)];
  const first = open(folder, { clock });
  first.clients.add(client("a"), 1);
  expect(first.clients.seen("a", "192.0.2.1")).toBe(true);
  expect(first.clients.seen("nobody", "192.0.2.2")).toBe(false);
  expect(first.clients.list()).toEqual([{ ...client("a"), address: "192.0.2.1", lastUsed: at(startMs) }]);
  clock.advance(5000);
  first.clients.seen("a", "192.0.2.3");
  const last = { ...client("a"), address: "192.0.2.3", lastUsed: at(startMs + 5000) };
  expect(first.clients.get("a")).toEqual(last);
  close(first);
  expect(open(folder, { clock }).clients.list()).toEqual([last]);
});

test("uses are written once an hour at most, and with the end of the service", () => {
  const [folder, clock] = [newFolder(), createManualClock(startMs)];
  const { clients } = open(folder, { clock });
  clients.add(client("a"), 1);
  clients.seen("a", "192.0.2.1");
  const logLength = () => statSync(join(folder, "tapdeck.db-wal")).size;
  const before = logLength();
  for (let minute = 1; minute < 60; minute++) {
    clock.advance(60_000);
    clients.seen("a", `192.0.2.${minute}`);
  }
  expect(logLength()).toBe(before);
  clock.advance(60_000);
  clients.seen("a", "192.0.2.1");
  expect(logLength()).toBeGreaterThan(before);
});

test("uses of the older clients are kept the same way", () => {
  const [folder, clock] = [newFolder(), createManualClock(startMs)];
  const first = open(folder, { clock });
  const old = { id: "old", name: "phone", token: "t", key: "ab".repeat(32), address: "" };
  first.v1Clients.add(old, 1);
  const added = "1970-01-01T00:00:00.001Z";
  expect(first.v1Clients.list()).toEqual([{ ...old, added }]);
  expect(first.v1Clients.seen("nobody", "192.0.2.1")).toBe(false);
  first.v1Clients.seen("old", "192.0.2.1");
  clock.advance(1000);
  first.v1Clients.seen("old", "192.0.2.2");
  close(first);
  const used = { ...old, added, address: "192.0.2.2", lastUsed: at(startMs + 1000) };
  expect(open(folder, { clock }).v1Clients.list()).toEqual([used]);
});

test("a client with an end is gone then, and one that was used before stays, over restarts too", () => {
  const [folder, clock] = [newFolder(), createManualClock(startMs)];
  const endMs = startMs + pairingLinkMs;
  const first = open(folder, { clock });
  first.clients.add(client("unused"), 1, endMs);
  first.clients.add(client("used"), 1, endMs);
  expect(first.clients.get("unused")).toEqual({ ...client("unused"), expires: at(endMs) });
  expect(first.clients.nextExpiryMs()).toBe(endMs);
  first.clients.seen("used", "192.0.2.1");
  // The copied folder is the state after a power cut.
  const killed = newFolder();
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(killed, name));
  const { clients } = open(killed, { clock });
  expect(clients.expire()).toEqual([]);
  clock.advance(pairingLinkMs);
  // No query returns the expired link, whether it was deleted already or not.
  expect(clients.get("unused")).toBeUndefined();
  expect(clients.list().map(({ id }) => id)).toEqual(["used"]);
  expect(clients.seen("unused", "192.0.2.1")).toBe(false);
  expect(clients.expire()).toEqual([{ id: "unused", name: "name of unused" }]);
  expect(clients.nextExpiryMs()).toBeUndefined();
  expect(clients.get("used")).toMatchObject({ address: "192.0.2.1" });
  expect(clients.get("used")).not.toHaveProperty("expires");
});

test("a link that was made before the clock was set back does not stay for years", () => {
  const folder = newFolder();
  const first = open(folder, { clock: createManualClock(startMs) });
  first.clients.add(client("a"), 1, startMs + pairingLinkMs);
  close(first);
  expect(open(folder, { clock: createManualClock(1000) }).clients.expire()).toHaveLength(1);
});

test("one client too many is refused with the limit's name, and fits once another is gone", () => {
  const { clients } = open(newFolder());
  for (let number = 0; number < clientsMax; number++) clients.add(client(`${number}`), 1);
  const error = refusalOf(() => clients.add(client("more"), 1));
  expect(error).toMatchObject({ code: "busy", data: { limit: "clientsMax" } });
  clients.remove("7");
  clients.add(client("more"), 1);
  expect(clients.list()).toHaveLength(clientsMax);
});

test("an id in use is refused and changes nothing", () => {
  const { clients } = open(newFolder());
  clients.add(client("a"), 1);
  expect(refusalOf(() => clients.add({ ...client("a"), name: "other" }, 1)).code).toBe("conflict");
  expect(clients.list()).toEqual([client("a")]);
});

test("texts are kept as they are, whatever is in them", () => {
  const { clients } = open(newFolder());
  const odd = { ...client("'; DROP TABLE clients; --"), name: 'Ж "quoted" \u0000 🎮' };
  clients.add(odd, 1);
  expect(clients.list()).toEqual([odd]);
});

test("all files of the database are their owner's alone, and become so again at the next start", () => {
  const folder = newFolder();
  const first = open(folder);
  first.clients.add(client("a"), 1);
  const modes = () => readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
  // The database, its companion files while it is open, and its lock.
  expect(modes()).toHaveLength(4);
  for (const [, mode] of modes()) expect(mode).toBe(0o600);
  close(first);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
  writeFileSync(join(folder, "tapdeck.db.damaged-2026-01-31T120000Z"), "x", { mode: 0o644 });
  writeFileSync(join(folder, "other"), "x", { mode: 0o644 });
  chmodSync(join(folder, "other"), 0o644);
  open(folder);
  expect(Object.fromEntries(modes())).toMatchObject({
    "tapdeck.db": 0o600,
    "tapdeck.db-wal": 0o600,
    "tapdeck.db.backup": 0o600,
    "tapdeck.db.damaged-2026-01-31T120000Z": 0o600,
    other: 0o644,
  });
});

// Without strace no test can distinguish a write on the disk from one in the page cache.
test.skipIf(Bun.which("strace") === null)(
  "a client is synced to the disk, and a history row is not",
  async () => {
    const folder = newFolder();
    const trace = join(folder, "trace");
    const child = [process.execPath, join(import.meta.dir, "../../programs/store-child.ts"), "sync", folder];
    const argv = ["strace", "--follow-forks", "--trace=fsync,fdatasync,write", `--output=${trace}`, ...child];
    expect(await Bun.spawn(argv, { stdout: "ignore" }).exited).toBe(0);
    const lines = readFileSync(trace, "utf8").split("\n");
    const place = (mark: string) => lines.findIndex((line) => line.includes(`write(1, "${mark}\\n"`));
    const syncs = (from: string, to: string) =>
      lines.slice(place(from), place(to)).filter((line) => /f(data)?sync\(.*= 0/.test(line)).length;
    expect(syncs("history", "clients")).toBe(0);
    expect(syncs("clients", "history again")).toBe(3);
    expect(syncs("history again", "end")).toBe(0);
  },
);

function refusalOf(run: () => void): ServiceError {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}
