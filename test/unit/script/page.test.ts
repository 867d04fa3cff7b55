/**
 * The document of launch scripts agrees with the commands.
 * Covers: tools/script-page.ts.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { pagePath, scriptPage } from "../../../tools/script-page.ts";

test("docs/SCRIPT.md is what tools/script-page.ts makes of the commands", () => {
  expect(readFileSync(pagePath, "utf8")).toBe(scriptPage());
});
