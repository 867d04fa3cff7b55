/**
 * The document of the API agrees with the API.
 * Covers: tools/api-page.ts.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { apiPage, pagePath } from "../../../tools/api-page.ts";

test("docs/API.md is what tools/api-page.ts makes of the methods", () => {
  expect(readFileSync(pagePath, "utf8")).toBe(apiPage());
});
