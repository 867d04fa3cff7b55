import { afterEach, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../src/core/errors.ts";
import { clientsMax } from "../../src/core/limits.ts";
import type { StoredClient } from "../../src/store/clients.ts";
import { createStores } from "../helpers/stores.ts";

const { newFolder, open, close, clean } = createStores();
afterEach(clean);

const client = (id: string): StoredClient => ({
  id,
  name: `name of ${id}`,
  secret: "ab".repeat(32),
  address: "",
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

test("the address a client was last seen at is kept", () => {
  const { clients } = open(newFolder());
  clients.add(client("a"), 1);
  clients.seen("a", "192.0.2.1");
  clients.seen("nobody", "192.0.2.2");
  expect(clients.list()).toEqual([{ ...client("a"), address: "192.0.2.1" }]);
});

test("an address that is known already is not written again", () => {
  const folder = newFolder();
  const { clients } = open(folder);
  clients.add(client("a"), 1);
  clients.seen("a", "192.0.2.1");
  const logLength = () => statSync(join(folder, "tapdeck.db-wal")).size;
  const before = logLength();
  clients.seen("a", "192.0.2.1");
  expect(logLength()).toBe(before);
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
  // The database, what belongs to it while it is open, and its lock.
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

// Without strace nothing can tell a write that is on the disk from one in the page cache.
test.skipIf(Bun.which("strace") === null)(
  "a client is synced to the disk, and a history row is not",
  async () => {
    const folder = newFolder();
    const trace = join(folder, "trace");
    const child = [process.execPath, join(import.meta.dir, "../helpers/store-child.ts"), "sync", folder];
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
