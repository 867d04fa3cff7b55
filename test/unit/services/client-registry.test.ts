/** Clients as the API manages them: links that expire, unique names, and closed connections. */
import { afterEach, expect, test } from "bun:test";
import type { AuditNote } from "../../../src/core/audit.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { clientNameCharsMax, pairingLinkMs, revocationUndoMs } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Role } from "../../../src/core/rights.ts";
import { createClientRegistry, freeName, seenIn } from "../../../src/services/client-registry.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, open, close, clean } = createStores();
afterEach(clean);

function world(folder = newFolder(), clock = createManualClock()) {
  const store = open(folder, { clock });
  const cut: string[] = [];
  const audited: string[] = [];
  const clients = createClientRegistry({
    store,
    clock,
    log: silentLog,
    audit: {
      note: (note: AuditNote) => audited.push("name" in note ? `${note.event} ${note.name}` : note.event),
      refused() {},
      launched() {},
      changed() {},
    },
    onRevoked: (id) => cut.push(id),
    onRole: (id, role) => cut.push(`${id} ${role}`),
  });
  const add = (name: string, more: { role?: Role; isLink?: boolean } = {}) =>
    clients.add({ name, role: "member", isLink: false, ...more });
  return { store, clock, clients, add, cut, audited, use: seenIn(store), folder };
}

function refusalOf(run: () => unknown): ServiceError {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

test("a link that nobody uses within ten minutes leaves no client, and its session is cut", () => {
  const { clock, clients, add, cut, audited, store } = world();
  const link = add("Anna", { role: "player", isLink: true });
  expect(link).toMatchObject({
    role: "player",
    expires: new Date(clock.now() + pairingLinkMs).toISOString(),
  });
  clock.advance(pairingLinkMs - 1);
  expect(store.clients.get(link.id)?.secret).toBe(link.secret);
  clock.advance(1);
  expect(store.clients.get(link.id)).toBeUndefined();
  expect(clients.list()).toEqual([]);
  expect(store.clients.nextExpiryMs()).toBeUndefined();
  expect(cut).toEqual([link.id]);
  expect(audited).toEqual(["paired Anna", "expired Anna"]);
});

test("links end one after another, and the used one among them stays", () => {
  const { clock, clients, add, use } = world();
  const [first, second] = [add("first", { isLink: true }), add("second", { isLink: true })];
  clock.advance(60_000);
  add("third", { isLink: true });
  use(second.id, "192.0.2.1");
  clock.advance(pairingLinkMs - 60_000);
  expect(clients.list().map(({ name }) => name)).toEqual(["second", "third"]);
  clock.advance(60_000);
  expect(clients.list()).toMatchObject([{ id: second.id, address: "192.0.2.1" }]);
  expect(clients.list()[0]).not.toHaveProperty("expires");
  expect(() => use(first.id, "192.0.2.1")).toThrow("does not open");
});

test("a link that was made before a restart ends at its time, in the next run or before it", () => {
  const clock = createManualClock();
  const first = world(newFolder(), clock);
  first.add("soon", { isLink: true });
  clock.advance(60_000);
  first.add("later", { isLink: true });
  first.clients[Symbol.dispose]();
  close(first.store);
  clock.advance(pairingLinkMs - 60_000);
  const next = world(first.folder, clock);
  expect(next.clients.list().map(({ name }) => name)).toEqual(["later"]);
  expect(next.audited).toEqual(["expired soon"]);
  clock.advance(60_000);
  expect(next.clients.list()).toEqual([]);
});

test("a client that was made by hand never ends", () => {
  const { clock, clients, add } = world();
  const made = add("program");
  clock.advance(1000 * pairingLinkMs);
  expect(clients.list()).toEqual([made]);
});

test("a name can be given once, however it is written; no name may be given again", () => {
  const { clients, add } = world();
  add("Zoë's phone");
  for (const same of ["Zoë's phone", "  zoË's PHONE ", "Zoe\u0308's phone"]) {
    const refusal = refusalOf(() => add(same));
    expect([refusal.code, refusal.message]).toEqual([
      "conflict",
      "there is a client with the name Zoë's phone already: choose another name, or revoke that client first (tapdeck pair --revoke)",
    ]);
    expect(refusalOf(() => add(same, { isLink: true })).code).toBe("conflict");
  }
  add("");
  add(" ");
  expect(clients.list().map(({ name }) => name)).toEqual(["Zoë's phone", "", ""]);
});

test("a name of an older client is in use as well", () => {
  const { store, add } = world();
  store.v1Clients.add({ id: "old", name: "Anna", token: "t", key: "k", address: "" }, 1);
  expect(refusalOf(() => add("anna")).code).toBe("conflict");
});

test("a second link with the same name takes the place of the first one that nobody used", () => {
  const { clients, add, use, cut } = world();
  const first = add("Anna", { isLink: true });
  const second = add("anna", { isLink: true });
  expect(clients.list()).toEqual([second]);
  expect(cut).toEqual([first.id]);
  expect(refusalOf(() => add("Anna")).code).toBe("conflict");
  use(second.id, "192.0.2.1");
  expect(refusalOf(() => add("Anna", { isLink: true })).code).toBe("conflict");
});

test("a phone that chooses a name in use gets a number behind it", () => {
  const { clients } = world();
  const names = ["phone", "Phone", "phone ", "", ""].map((name) => clients.addPaired(name, "player").name);
  expect(names).toEqual(["phone", "Phone 2", "phone 3", "", ""]);
  expect(clients.list()[0]).toMatchObject({ role: "player" });
});

test("a number behind a long name keeps within the limit, and halves no character", () => {
  const long = "🎮".repeat(127);
  const name = freeName(long, [{ name: long }]);
  expect(name).toBe(`${"🎮".repeat(126)} 2`);
  expect(name.length).toBeLessThanOrEqual(clientNameCharsMax);
});

test("a client gets another role, which is stored, counts at once and is audited; an equal one changes nothing", () => {
  const { clients, add, cut, audited, store } = world();
  const { id } = add("Anna");
  clients.update(id, { role: "member" });
  expect(cut).toEqual([]);
  clients.update(id, { role: "player" });
  expect(store.clients.get(id)).toMatchObject({ role: "player", name: "Anna" });
  expect(cut).toEqual([`${id} player`]);
  expect(audited).toEqual(["paired Anna", "role-changed Anna"]);
  expect(refusalOf(() => clients.update("none", { role: "player" })).code).toBe("not-found");
});

test("a client gets another name, which ends no session, and no name twice", () => {
  const { clients, add, cut, audited } = world();
  const { id } = add("Anna");
  add("Ben");
  clients.update(id, { name: " Anna's phone " });
  expect(clients.list()[0]?.name).toBe("Anna's phone");
  expect(refusalOf(() => clients.update(id, { name: "ben" })).code).toBe("conflict");
  clients.update(id, { name: "ANNA'S PHONE" });
  expect(clients.list().map(({ name }) => name)).toEqual(["ANNA'S PHONE", "Ben"]);
  expect(cut).toEqual([]);
  expect(audited).toEqual(["paired Anna", "paired Ben"]);
});

test("a revoked client comes back with its secret for ten seconds, even if its name is taken meanwhile", () => {
  const { clients, add, clock, cut, store } = world();
  const anna = add("Anna", { role: "player" });
  clients.remove(anna.id);
  expect(clients.isRestorable(anna.id)).toBe(true);
  add("Anna");
  clock.advance(revocationUndoMs - 1);
  clients.restore(anna.id);
  expect(store.clients.get(anna.id)).toMatchObject({
    name: "Anna 2",
    role: "player",
    secret: anna.secret,
    added: anna.added,
  });
  expect(cut).toEqual([anna.id, `${anna.id} player`]);
  expect(refusalOf(() => clients.restore(anna.id)).code).toBe("not-found");
  clients.remove(anna.id);
  clock.advance(revocationUndoMs);
  expect(refusalOf(() => clients.restore(anna.id)).code).toBe("not-found");
});

test("an unused pairing link that is revoked does not come back", () => {
  const { clients, add } = world();
  const link = add("Anna", { isLink: true });
  clients.remove(link.id);
  expect(refusalOf(() => clients.restore(link.id)).code).toBe("not-found");
});

test("the last owner is refused to callers from afar, and an unused link is no owner", () => {
  const { clients, add } = world();
  expect(clients.hasOwner()).toBe(false);
  add("Link", { role: "owner", isLink: true });
  expect(clients.hasOwner()).toBe(false);
  const first = add("Anna", { role: "owner" });
  expect(clients.hasOwner()).toBe(true);
  expect(refusalOf(() => clients.refuseLastOwner(first.id)).code).toBe("forbidden");
  const second = add("Ben", { role: "owner" });
  clients.refuseLastOwner(first.id);
  clients.update(second.id, { role: "member" });
  expect(refusalOf(() => clients.refuseLastOwner(first.id)).message).toContain("the last owner");
  clients.refuseLastOwner(second.id);
});

test("the key of the staff is one client, which follows tapdeck.conf at each start", () => {
  const folder = newFolder();
  const [first, second] = ["5a".repeat(32), "c3".repeat(32)];
  const startedWith = (key: string | undefined) => {
    const { clients, audited, store } = world(folder);
    clients.keepStaff(key);
    const shown = clients.list().map(({ id, name, secret, role }) => [id, name, secret, role]);
    clients[Symbol.dispose]();
    close(store);
    return [shown, audited];
  };
  expect(startedWith(undefined)).toEqual([[], []]);
  expect(startedWith(first)).toEqual([[["staff", "staff", first, "member"]], ["paired staff"]]);
  expect(startedWith(first)).toEqual([[["staff", "staff", first, "member"]], []]);
  expect(startedWith(second)).toEqual([[["staff", "staff", second, "member"]], ["paired staff"]]);
  expect(startedWith(undefined)).toEqual([[], []]);
});
