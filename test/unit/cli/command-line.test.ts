/**
 * The command line: wrong input gets its fault and the right form.
 * Covers: src/cli/arguments.ts, src/cli/cli.ts, src/cli/help.ts.
 */
import { expect, test } from "bun:test";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { withDefaults } from "../../../src/cli/cli.ts";
import { settingValue } from "../../../src/cli/deck-commands.ts";
import { commandHelp, commandNames } from "../../../src/cli/help.ts";
import { helpText } from "../../../src/cli/help-text.ts";
import { notificationLine } from "../../../src/cli/show.ts";
import { printable } from "../../../src/core/text.ts";

const wrong: readonly (readonly [readonly string[], string])[] = [
  [["wirte", "x"], "there is no command wirte; did you mean write?"],
  [["tpa", "x"], "there is no command tpa; did you mean tap?"],
  [["frobnicate"], "there is no command frobnicate (tapdeck --help)"],
  [["write", "x", "--forec"], "there is no option --forec; did you mean --force?"],
  [
    ["tap", "x", "--force"],
    "--force belongs to tapdeck write, map, pair, backup: use it as: tapdeck tap TEXT",
  ],
  [
    ["write", "x", "--uid", "04a1"],
    "--uid belongs to tapdeck tap: use it as: tapdeck write TEXT | --list FILE",
  ],
  [["config", "--status"], "--status belongs to tapdeck update"],
  [["ping", "--timeout", "soon"], '--timeout must be a whole number from 1 to 3600000, not "soon"'],
  [["audit", "-n", "x"], '-n must be a whole number from 1 to 1000, not "x"'],
  [["audit", "-nx"], '-n must be a whole number from 1 to 1000, not "x"'],
  [["audit", "--lines=x"], '--lines must be a whole number from 1 to 1000, not "x"'],
];

const nearest: typeof wrong = [
  [["status", "--foo"], "there is no option --foo (tapdeck --help)"],
  [["tap", "x", "--foo"], "there is no option --foo; did you mean --for?"],
  [["tap", "x", "--forec"], "there is no option --forec (tapdeck --help)"],
  [["status", "--jsno=3"], "there is no option --jsno; did you mean --json?"],
  [["status", "--prot", "80"], "there is no option --prot; did you mean --port?"],
  [["--verison"], "there is no option --verison; did you mean --version?"],
  [["log", "-f", "--levle", "warn"], "there is no option --levle; did you mean --level?"],
  [["log", "-fx"], "there is no option -x (tapdeck --help)"],
  [["stauts", "--foo"], "there is no command stauts; did you mean status?"],
  [["help", "stauts"], "there is no command stauts; did you mean status?"],
];

test.each(nearest)(
  "a typo in tapdeck %p was answered with an option of another command",
  (words, sentence) => {
    expect(() => parseArguments(words)).toThrow(sentence);
  },
);

test("write with an empty text asked for a tag before it was refused", () => {
  expect(() => parseArguments(["write", ""])).toThrow("the text is empty, so nothing would be written");
});

const unquoted: typeof wrong = [
  [["tap", "Audio/Rising", "Fifth.wav"], "TEXT [--uid HEX] [--for MS]; put the text in quotes"],
  [["write", "Audio/Rising", "Fifth.wav"], "| --list FILE; put the text in quotes"],
  [["map", "04a1", "Rising", "Fifth.wav"], "| --import FILE; put the text in quotes"],
  [["map", "--next", "Rising", "Fifth.wav"], "| --import FILE; put the text in quotes"],
  [["unmap", "04", "a1"], "use it as: tapdeck unmap UID; put the UID in quotes (tapdeck --help)"],
  [["backup", "my", "deck"], "; put the name in quotes (tapdeck --help)"],
  [["tap"], "TEXT [--uid HEX] [--for MS] (tapdeck --help)"],
];

test.each(unquoted)("tapdeck %p without quotes got only the usage line", (words, sentence) => {
  expect(() => parseArguments(words)).toThrow(sentence);
});

const valueless: typeof wrong = [
  [["log", "-n"], "--lines needs a value: --lines N, or --lines=N if it begins with a dash (tapdeck --help)"],
  [["log", "-n", "-5"], "--lines needs a value: --lines N"],
  [["log", "--lines"], "--lines needs a value: --lines N"],
  [["tap", "x", "--uid", "--json"], "--uid needs a value: --uid HEX"],
  [["tap", "x", "--uid"], "--uid needs a value: --uid HEX"],
  [["status", "--json=3"], "--json takes no value (tapdeck --help)"],
  [["pair", "--list=x"], "--list takes no value"],
];

test.each(valueless)("tapdeck %p showed the raw text of the parser", (words, sentence) => {
  expect(() => parseArguments(words)).toThrow(sentence);
});

test.each(wrong)("tapdeck %p is refused with a sentence", (words, sentence) => {
  expect(() => parseArguments(words)).toThrow(sentence);
});

const doorbell = {
  systemId: "Audio",
  systemName: "Audio",
  mediaPath: "/x",
  mediaName: "Doorbell",
  launcherId: "mpv",
  started: "2026-11-01T10:00:00Z",
  elapsed: 3,
};

test("watch called a stop on request an exit with code 4: only a failure has a code", () => {
  const lineOf = (reason: "stopped" | "ended" | "failed", exitCode: number | null) =>
    notificationLine(
      { method: "media.stopped", params: { ...doorbell, reason, exitCode } },
      new Date(),
    ).slice(10);
  expect(lineOf("stopped", 4)).toBe("media.stopped   Doorbell stopped after 3 s");
  expect(lineOf("ended", 0)).toBe("media.stopped   Doorbell ended after 3 s");
  expect(lineOf("failed", 2)).toBe("media.stopped   Doorbell failed after 3 s, exit code 2");
  expect(lineOf("failed", null)).toBe("media.stopped   Doorbell failed after 3 s");
});

test("call mappings.new was refused without enabled", () => {
  expect(withDefaults("mappings.new", { type: "uid" })).toEqual({ enabled: true, type: "uid" });
  expect(withDefaults("mappings.new", { enabled: false })).toEqual({ enabled: false });
  for (const params of [undefined, null, [], "x"]) expect(withDefaults("mappings.new", params)).toBe(params);
  expect(withDefaults("mappings.update", {})).toEqual({});
});

test("every command takes the options that its help names, and each of its options is in its help", () => {
  for (const name of commandNames) {
    const { options = {}, words: [wordsMin] = [0] } = commandHelp[name];
    const help = helpText(name);
    // Options of the image's own scripts are not for people.
    for (const option of Object.keys(options).filter((one) => one !== "confirm"))
      expect([name, option, help.includes(`--${option}`)]).toEqual([name, option, true]);
    const words =
      { update: ["--status"], write: ["x"], map: ["04a1", "x"] }[String(name)] ??
      Array.from({ length: wordsMin }, () => "x");
    for (const flag of ["--port=80", "--timeout=5", "--data=/tmp", "--config=x"])
      expect(parseArguments([name, ...words, flag])).toMatchObject(
        name === "version" ? { kind: "version" } : name === "help" ? { kind: "help" } : { command: name },
      );
  }
});

test("names from outside cannot steer a terminal: they stay on their line, and what would steer is shown", () => {
  expect(printable("Anna\u001b[2J\nid  Owner\u009b1m\u202e")).toBe(
    "Anna\\u{1b}[2J\\u{a}id  Owner\\u{9b}1m\\u{202e}",
  );
  const whole = "Pokémon 🎮 👨‍👩‍👧 ファイナル";
  expect(printable(whole)).toBe(whole);
  const started = { systemId: "SNES", systemName: "S", mediaPath: "", launcherId: "x", started: "" };
  const line = notificationLine(
    { method: "media.started", params: { ...started, mediaName: "a\u001b]0;x\u0007" } },
    new Date(0),
  );
  expect(line).toContain("a\\u{1b}]0;x\\u{7} (S, x)");
});

test("help and version are commands, too, and every command of the table parses", () => {
  expect(parseArguments(["help"])).toEqual({ kind: "help", command: undefined });
  expect(parseArguments(["help", "tap"])).toEqual({ kind: "help", command: "tap" });
  expect(() => parseArguments(["help", "tpa"])).toThrow("there is no command tpa; did you mean tap?");
  expect(parseArguments(["version", "--json"])).toEqual({ kind: "version", json: true });
  expect(parseArguments(["-V"])).toEqual({ kind: "version", json: false });
});

test("map takes a UID and a text, a text for the next card, or a file", () => {
  expect(parseArguments(["map", "--export", "a.csv", "--force"])).toMatchObject({
    export: "a.csv",
    force: true,
  });
  expect(parseArguments(["map", "--import", "a.csv", "--replace"])).toMatchObject({
    import: "a.csv",
    replace: true,
  });
  for (const words of [
    ["--export", "a.csv", "--import", "a.csv"],
    ["--export", "a.csv", "x"],
    ["--import", "a.csv", "--next"],
    ["--import", "a.csv", "--force"],
    ["04a1", "x", "--replace"],
    [],
  ])
    expect(() => parseArguments(["map", ...words]), words.join(" ")).toThrow(
      "use it as: tapdeck map UID TEXT | --next TEXT | --export FILE | --import FILE",
    );
  expect(parseArguments(["map", "04a1", "x"])).toMatchObject({
    command: "map",
    words: ["04a1", "x"],
    next: false,
  });
  expect(parseArguments(["map", "--next", "x"])).toMatchObject({ words: ["x"], next: true });
  for (const words of [["04a1"], ["--next", "04a1", "x"], ["--next"]])
    expect(() => parseArguments(["map", ...words]), words.join(" ")).toThrow(
      "use it as: tapdeck map UID TEXT",
    );
});

test.each([
  ["true", false, true],
  ["2.5", 0, 2.5],
  ["soon", 0, "soon"],
  ["hold", "tap", "hold"],
  ["7", "tap", "7"],
  ["SNES, NES", [], ["SNES", "NES"]],
  ['["SNES"]', [], ["SNES"]],
  ["", ["SNES"], []],
  ["10,5", [1], [10, 5]],
] as const)("settings set reads %p in place of %j as %j", (typed, now, value) => {
  expect(settingValue(typed, now)).toEqual(value);
});

test("the help of a command and of all of them is made from one table", () => {
  expect(helpText("audit")).toBe(`tapdeck audit [-n N] [--json]

show pairings, refusals, and remote launches and changes

Equal refusals and launches are counted together; tapdeck history lists the launches.

  -n, --lines N   the newest N lines (20)
  --json          an entry a line, in the form of the API
`);
  const all = helpText(undefined);
  for (const name of commandNames)
    expect(all).toContain(`  tapdeck ${commandHelp[name].usage.split(" ")[0]}`);
  for (const text of [all, ...commandNames.map(helpText)])
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
  // A broken text keeps its words, and its options stay in their column.
  const words = (text: string) => text.split(/\s+/).filter(Boolean);
  for (const name of commandNames)
    expect(words(helpText(name))).toEqual(expect.arrayContaining(words(commandHelp[name].more)));
  expect(helpText("pair")).toContain(`
  --pin           the same for an app that knows only the older encryption (api.allow_v1_clients),
                  valid for five minutes
`);
});
