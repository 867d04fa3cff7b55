/** Rules of the API's schemas that the library of schemas does not have. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { isoTime } from "../../../src/api/schemas.ts";

test("a time of RFC 3339 is taken in each of its spellings", () => {
  for (const text of [
    "2026-01-31T12:00:00Z",
    "2026-01-31t12:00:00.5z",
    "2024-02-29 23:59:59.123456789012-23:59",
    "0000-01-01T00:00:00+00:00",
  ]) {
    expect([text, v.is(isoTime, text)]).toEqual([text, true]);
    expect([text, Number.isNaN(Date.parse(text))]).toEqual([text, false]);
  }
});

test("a text that names no time is refused, instead of an empty answer or another day", () => {
  for (const text of [
    "",
    "yesterday",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31T12:00:00+01",
    "2026-01-31T12:00:00+0100",
    "2026-01-31T24:00:00Z",
    "2026-02-31T12:00:00Z",
    "2026-02-29T12:00:00Z",
    "2026-04-31T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "2026-00-10T12:00:00Z",
    "2026-01-00T12:00:00Z",
    " 2026-01-31T12:00:00Z",
  ])
    expect([text, v.is(isoTime, text)]).toEqual([text, false]);
});
