/**
 * The parts that a new method or notification needs besides its code: a row in the table of rights, and a transcript.
 * Covers: src/api/methods.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Method } from "../../../src/api/method.ts";
import { methodNames, methodOf, methods } from "../../../src/api/methods/index.ts";
import { notifications } from "../../../src/api/notifications.ts";
import type { Services } from "../../../src/api/services.ts";
import { methodRows, notificationRights } from "../../helpers/right-tables.ts";

/** These aliases are covered by the transcripts of their methods. */
const aliases = ["media.generate", "media.generate.cancel"];

test("every method has a transcript", () => {
  const files = readdirSync(join(import.meta.dir, "../../transcripts/api"));
  expect(files.map((file) => file.replace(/\.txt$/, "")).toSorted()).toEqual(
    methodNames.filter((name) => !aliases.includes(name)).toSorted(),
  );
});

test("each method requires the right that the table states, and none is missing from it", () => {
  const all: readonly Method[] = methods;
  const stated = all.flatMap(({ name, aliases = [], right }) =>
    [name, ...aliases].map((one) => [one, right]),
  );
  const table = Object.entries(methodRows).map(([name, { right }]) => [name, right]);
  expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(table));
});

test("the methods with secrets are for the device itself, and only those", () => {
  const all: readonly Method[] = methods;
  const stated = all.flatMap(({ name, isLocal = false }) => (isLocal ? [name] : []));
  const table = Object.entries(methodRows).flatMap(([name, { isLocal = false }]) => (isLocal ? [name] : []));
  expect(stated).toEqual(table);
  expect(stated).toEqual(["clients", "clients.new", "clients.update", "clients.delete"]);
});

test("a change of the play time limits is counted and audited under both names of its method", async () => {
  const services = { settings: { update: async () => {} } } as unknown as Services;
  const gone = () => new AbortController().signal;
  const grant = () => "own" as const;
  const owner = { access: "remote", grant, gone, from: { address: "10.0.0.1" } } as const;
  for (const [name, params, object] of [
    ["playtime.limits.update", { dailyMinutes: 30, volumeMax: 50 }, "dailyMinutes volumeMax"],
    ["settings.playtime.limits.update", { enabled: true, daily: "30m" }, "enabled daily"],
  ] as const) {
    const seen: unknown[] = [];
    const watch = {
      before: (writes: boolean) => void seen.push(writes),
      onChanged: (what: string) => void seen.push(what),
    };
    await methodOf(name)?.call(services, params, owner, watch);
    expect([name, seen]).toEqual([name, [true, object]]);
  }
});

test("each notification requires the right that the table states, and none is missing from it", () => {
  const stated = Object.entries(notifications).map(([name, { right }]) => [name, right]);
  expect(Object.fromEntries(stated)).toEqual(notificationRights);
});
