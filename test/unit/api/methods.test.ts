/**
 * The parts that a new method or notification needs besides its code: a row in the table of rights, and a transcript.
 * Covers: src/api/methods.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Method } from "../../../src/api/method.ts";
import { methodNames, methods } from "../../../src/api/methods/index.ts";
import { notifications } from "../../../src/api/notifications.ts";
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

test("each notification requires the right that the table states, and none is missing from it", () => {
  const stated = Object.entries(notifications).map(([name, { right }]) => [name, right]);
  expect(Object.fromEntries(stated)).toEqual(notificationRights);
});
