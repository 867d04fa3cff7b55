/** `tapdeck write`: the choice of the reader. */
import { expect, test } from "bun:test";
import { writerOf } from "../../../src/cli/write-tags.ts";
import type { Reader } from "../../../src/core/token.ts";

function reader(readerId: string, facts: Partial<Reader> = {}): Reader {
  const path = `/dev/${readerId}`;
  const capabilities = ["read", "write", "removable"] as const;
  return { id: path, readerId, driver: "d", path, info: "", connected: true, capabilities, ...facts };
}

test("write asked for a tag although no reader could write one", () => {
  expect(writerOf([reader("a"), reader("b")], undefined)).toBe("a");
  expect(writerOf([reader("a"), reader("b")], "b")).toBe("b");
  const none = "no reader that can write is connected: tapdeck readers lists the readers";
  for (const readers of [[], [reader("a", { connected: false })], [reader("a", { capabilities: ["read"] })]])
    expect(() => writerOf(readers, undefined)).toThrow(none);
});

test("write waited for a tag on a reader that is not there, or cannot write", () => {
  const readers = [reader("front-1"), reader("scanner", { capabilities: ["read"] })];
  expect(() => writerOf(readers, "front-2")).toThrow("no reader has the id front-2; did you mean front-1?");
  expect(() => writerOf(readers, "scanner")).toThrow("the reader scanner cannot write");
  expect(() => writerOf([reader("a", { connected: false })], "a")).toThrow("the reader a is not connected");
});
