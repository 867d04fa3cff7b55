/** The completions of the shells, and the man page: both are made from the table of commands. */
import { expect, test } from "bun:test";
import { completionsFor, shells } from "../../../src/cli/completions.ts";
import { commandNames } from "../../../src/cli/help.ts";
import { optionsOf } from "../../../src/cli/help-text.ts";
import { manPage } from "../../../tools/man-page.ts";

/** The completions that bash offers for the last of these words. */
function completed(...words: readonly string[]): readonly string[] {
  const script = `${completionsFor("bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _tapdeck; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = Bun.spawnSync(["bash", "-c", script, "bash", "tapdeck", ...words], {
    cwd: `${import.meta.dir}/../..`,
  });
  expect(run.stderr.toString()).toBe("");
  return run.stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}

test("bash completes commands, their words and options, values and files", () => {
  expect(completed("st")).toEqual(["status", "stop"]);
  expect(completed("settings", "s")).toEqual(["set", "soundPlace", "sessionMinutes", "sessionResetMinutes"]);
  expect(completed("settings", "get", "audioF")).toEqual(["audioFeedback"]);
  expect(completed("completions", "")).toContain("zsh");
  expect(completed("help", "una")).toEqual([]);
  expect(completed("help", "unm")).toEqual(["unmap"]);
  expect(completed("map", "--n")).toEqual(["--next"]);
  expect(completed("stop", "--n")).toEqual([]);
  expect(completed("pair", "--role", "p")).toEqual(["player"]);
  expect(completed("log", "--level", "w")).toEqual(["warn"]);
  expect(completed("--port", "80", "tap", "--u")).toEqual(["--uid"]);
  expect(completed("--port", "=", "80", "tap", "--u")).toEqual(["--uid"]);
  expect(completed("write", "--list", "unit/doc")).toEqual(["unit/documents.test.ts"]);
  expect(completed("update", "unit/doc")).toEqual(["unit/documents.test.ts"]);
});

test.each(shells)("the completions of %s name every command and every option", (shell) => {
  const text = completionsFor(shell);
  for (const command of [undefined, ...commandNames]) {
    if (command !== undefined) expect(text).toContain(command);
    for (const { name } of optionsOf(command)) expect(text).toMatch(new RegExp(`(--|-l )${name}\\b`));
  }
  expect(text).not.toContain("--confirm");
  if (Bun.which(shell) === null) return;
  const run = Bun.spawnSync([shell, "-n", "/dev/stdin"], { stdin: Buffer.from(text) });
  expect([run.exitCode, run.stderr.toString()]).toEqual([0, ""]);
});

test("the man page has every command and option, and groff formats it without a warning", () => {
  const page = manPage();
  for (const command of [undefined, ...commandNames]) {
    if (command !== undefined) expect(page).toContain(`.SS "tapdeck ${command}`);
    for (const { name } of optionsOf(command)) expect(page).toContain(`\\-\\-${name.replaceAll("-", "\\-")}`);
  }
  if (Bun.which("groff") === null) return;
  const run = Bun.spawnSync(["groff", "-man", "-ww", "-Tascii"], { stdin: Buffer.from(page) });
  expect(run.stderr.toString()).toBe("");
  // A bold letter is written as a letter, a backspace and the letter again.
  expect(run.stdout.toString().replaceAll(/.[\b]/g, "")).toContain("-n, --lines N");
});
