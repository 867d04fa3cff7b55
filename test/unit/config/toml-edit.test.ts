import { expect, test } from "bun:test";
import fc from "fast-check";
import { configOf } from "../../../src/config/read-config.ts";
import { checkPatch, editsOf, type SettingsPatch, withPatch } from "../../../src/config/settings-patch.ts";
import { editToml, type SettingEdit, type SettingValue } from "../../../src/config/toml-edit.ts";

function patched(text: string, ...edits: readonly SettingEdit[]): string {
  const outcome = editToml(text, edits);
  if (outcome.kind === "refused") throw new Error(`refused: ${outcome.edit.section}.${outcome.edit.key}`);
  return outcome.text;
}

const detectOff = { section: "readers", key: "detect", value: false };
const connect = (...value: string[]) => ({ section: "readers", key: "connect", value });

const cases: readonly (readonly [why: string, before: string, edit: SettingEdit, after: string])[] = [
  [
    "odd spacing and a comment stay",
    "[readers]\n  detect   =   true   # x",
    detectOff,
    "[readers]\n  detect   =   false   # x",
  ],
  ["a dotted key", "readers.detect = true\n[log]\n", detectOff, "readers.detect = false\n[log]\n"],
  ["an inline table", "readers = { detect = true } # x\n", detectOff, "readers = { detect = false } # x\n"],
  ["a quoted key", `["readers"]\n'detect'=true`, detectOff, `["readers"]\n'detect'=false`],
  [
    "a key with an escape",
    '[readers]\n"d\\u0065tect" = true',
    detectOff,
    '[readers]\n"d\\u0065tect" = false',
  ],
  [
    "a commented line is none",
    "[readers]\n# detect = true\n",
    detectOff,
    "[readers]\ndetect = false\n# detect = true\n",
  ],
  [
    "a text that looks like a key is none",
    '[hooks]\non_scan = """\n[readers]\ndetect = true"""\n',
    detectOff,
    '[hooks]\non_scan = """\n[readers]\ndetect = true"""\n\n[readers]\ndetect = false\n',
  ],
  [
    "quotes right before the end of a text",
    "[hooks]\non_scan = '''a''''\n[readers]\ndetect=true",
    detectOff,
    "[hooks]\non_scan = '''a''''\n[readers]\ndetect=false",
  ],
  [
    "a new key comes behind the last one, indented as it",
    "[readers]\r\n\tconnect = [\r\n] # x\r\n\r\n# y\r\n[log]\r\n",
    detectOff,
    "[readers]\r\n\tconnect = [\r\n] # x\r\n\tdetect = false\r\n\r\n# y\r\n[log]\r\n",
  ],
  [
    "a new key behind the head of an empty section",
    "[readers] # x\n\n[log]\n",
    detectOff,
    "[readers] # x\ndetect = false\n\n[log]\n",
  ],
  [
    "a new key behind dotted ones, spelt as they are",
    "'readers' . connect = [] # x\n\n[log]\n",
    detectOff,
    "'readers' . connect = [] # x\n'readers'.detect = false\n\n[log]\n",
  ],
  [
    "a new key in an inline table",
    "readers = { connect = [] }\n",
    detectOff,
    "readers = { connect = [], detect = false }\n",
  ],
  ["a new key in an empty inline table", "readers = {}\n", detectOff, "readers = { detect = false }\n"],
  [
    "a new section at the end",
    "[log]\r\ndebug = true",
    detectOff,
    "[log]\r\ndebug = true\r\n\r\n[readers]\r\ndetect = false\r\n",
  ],
  ["a new section behind a blank line", "# x\n\n", detectOff, "# x\n\n[readers]\ndetect = false\n"],
  ["a new section in an empty file", "", detectOff, "[readers]\ndetect = false\n"],
  ["a new section behind a byte order mark", "\ufeff", detectOff, "\ufeff[readers]\ndetect = false\n"],
  [
    "a new section behind launchers is not part of them",
    '[[launchers]]\nid = "a"\n',
    detectOff,
    '[[launchers]]\nid = "a"\n\n[readers]\ndetect = false\n',
  ],
  [
    "what stands there already is left alone",
    "[readers]\nconnect = [ 'a' , # x\n]",
    connect("a"),
    "[readers]\nconnect = [ 'a' , # x\n]",
  ],
  [
    "an entry is added on a line of its own",
    "[readers]\nconnect = [\n  'a', # one\n]\n",
    connect("a", "b"),
    `[readers]\nconnect = [\n  'a', # one\n  "b",\n]\n`,
  ],
  [
    "an entry is added where no comma was",
    "[readers]\nconnect = [\n  'a' # one\n]\n",
    connect("a", "b"),
    `[readers]\nconnect = [\n  'a', # one\n  "b"\n]\n`,
  ],
  [
    "an entry is added before the first",
    "[readers]\nconnect = [\n  'a' # one\n]\n",
    connect("b", "a"),
    `[readers]\nconnect = [\n  "b",\n  'a' # one\n]\n`,
  ],
  [
    "an entry on a line of its own goes with its line",
    "[readers]\nconnect = [\n  'a',\n  'b',\n]\n",
    connect("b"),
    "[readers]\nconnect = [\n  'b',\n]\n",
  ],
  [
    "the comment of an entry that goes stays",
    "[readers]\nconnect = [\n  'a', # one\n  'b',\n]\n",
    connect("b"),
    "[readers]\nconnect = [\n  # one\n  'b',\n]\n",
  ],
  [
    "an entry that changes does so where it stands",
    "[readers]\nconnect = ['a', 'b' , 'c']\n",
    connect("a", "x", "c"),
    `[readers]\nconnect = ['a', "x" , 'c']\n`,
  ],
  [
    "an empty list is filled",
    "[readers]\nconnect = [ ]\n",
    connect("a", "b"),
    '[readers]\nconnect = ["a", "b"]\n',
  ],
  ["a list is emptied", "[readers]\nconnect = ['a', 'b']\n", connect(), "[readers]\nconnect = []\n"],
  [
    "control characters and quotes are escaped",
    "",
    connect('a"\\\n\x7f'),
    '[readers]\nconnect = ["a\\"\\\\\\n\\u007f"]\n',
  ],
];

test.each(cases)("%s", (_why, before, edit, after) => {
  expect(patched(before, edit)).toBe(after);
});

test("a section that is written as something else is refused, not mended", () => {
  const outcome = editToml("readers = [ { } ]\n[log]\n", [{ section: "log", key: "debug", value: true }]);
  expect(outcome).toEqual({ kind: "edited", text: "readers = [ { } ]\n[log]\ndebug = true\n" });
  expect(() => editToml("readers = [ { } ]", [detectOff])).toThrow("readers must be a section");
});

test("a long file of many lines is patched", () => {
  const long = `${"# a line\n\n".repeat(50_000)}[readers]\n${"#\n".repeat(50_000)}`;
  expect(patched(long, detectOff)).toBe(long.replace("[readers]", "[readers]\ndetect = false"));
});

// Files with all features of TOML, composed of pieces; the places of the values are known.

interface Piece {
  readonly text: string;
  /** The setting with this value, as `section.key`. */
  readonly setting?: string;
  readonly comments?: readonly string[];
}

const commentText = fc.constantFrom(
  "# x",
  "#",
  "# detect = true",
  "# [readers]",
  '# "never closed',
  "#'''",
  "# é☃💾",
  "#]},=",
);
const gap = fc.constantFrom("", " ", "  ", "\t");
const blankLines = fc
  .array(
    fc.oneof(
      fc.constant("\n"),
      fc.constant("  \n"),
      fc.tuple(gap, commentText).map(([space, words]) => `${space}${words}\n`),
    ),
    { maxLength: 3 },
  )
  .map((lines) => lines.join(""));
const lineTail = fc
  .option(commentText, { nil: "" })
  .chain((words) => gap.map((space) => `${space}${words}\n`));
/** The texts that may be between the members of a list: spaces, line ends and comments. */
const listGap = fc.oneof(
  { arbitrary: gap.map((text) => ({ text, comments: [] as string[] })), weight: 4 },
  { arbitrary: gap.map((space) => ({ text: `\n${space}`, comments: [] as string[] })), weight: 2 },
  {
    arbitrary: fc
      .tuple(gap, commentText)
      .map(([space, words]) => ({ text: `${space}${words}\n`, comments: [words] })),
    weight: 1,
  },
);

const words = fc.oneof(
  fc.constantFrom(
    "/a",
    "/b",
    "/c d",
    "/e]f",
    "/g,h",
    "/i#j",
    "/k'l",
    '/m"n',
    "/o\\p",
    "/é💾",
    "/\x7f",
    "/\t",
  ),
  fc.string({ maxLength: 5 }).map((tail) => `/${tail.replaceAll("\0", "")}`),
);
const wordsList = fc.array(words, { maxLength: 4 });
const spelt = (word: string) =>
  /['\p{Cc}]/u.test(word)
    ? fc.constant(basic(word))
    : fc.constantFrom(`'${word}'`, basic(word), `"\\u002f${basic(word.slice(1)).slice(1)}`);

function basic(word: string): string {
  return JSON.stringify(word).replaceAll("\x7f", "\\u007f");
}

const listValue: fc.Arbitrary<Omit<Piece, "setting">> = fc
  .tuple(wordsList, listGap, fc.boolean())
  .chain(([list, first, trailing]) =>
    fc.tuple(...list.map((word) => fc.tuple(spelt(word), listGap, listGap))).map((items) => {
      const inner = items.map(
        ([item, before, after], nth) =>
          `${item}${before.text}${nth < items.length - 1 || trailing ? `,${after.text}` : ""}`,
      );
      const comments = items.flatMap(([, before, after], nth) =>
        nth < items.length - 1 || trailing ? [...before.comments, ...after.comments] : before.comments,
      );
      return { text: `[${first.text}${inner.join("")}]`, comments: [...first.comments, ...comments] };
    }),
  );
const boolValue = fc.constantFrom({ text: "true" }, { text: "false" });
const delayValue = fc.constantFrom("0", "2.5", "1e1", "0x10", "1_0", "+5", "0.0").map((text) => ({ text }));

const keysOf: Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<Omit<Piece, "setting">>>>>> = {
  readers: {
    connect: listValue,
    detect: boolValue,
    insert_mode: boolValue,
    insert_mode_blocklist: listValue,
    insert_mode_exit_delay: delayValue,
  },
  audio: { feedback: boolValue },
  log: { console: boolValue, debug: boolValue },
  systems: { root_folders: listValue },
};

const keySpelling = (key: string) =>
  fc.constantFrom(
    key,
    key,
    `"${key}"`,
    `'${key}'`,
    `"\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}"`,
  );

type Form = "header" | "dotted" | "inline" | "absent";

/** One section in one of its spellings. */
function sectionPieces(section: string, form: Form): fc.Arbitrary<readonly Piece[]> {
  if (form === "absent") return fc.constant([]);
  const all = Object.entries(keysOf[section] ?? {});
  const spellings = fc.shuffledSubarray(all).chain((keys) =>
    fc.tuple(
      ...keys.map(([key, value]) =>
        fc
          .tuple(keySpelling(key), value, gap, gap, gap, lineTail, blankLines)
          .map(([name, made, indent, left, right, tail, above]) => ({
            name: `${name}${left}=${right}`,
            piece: { ...made, setting: `${section}.${key}` },
            indent,
            tail,
            above,
            right,
          })),
      ),
    ),
  );
  return fc
    .tuple(spellings, keySpelling(section), gap, lineTail, blankLines)
    .map(([keys, name, space, tail, above]) => {
      if (form === "inline")
        return [
          { text: `${above}${name}${space}=${space}{${space}` },
          ...keys.flatMap((key, nth) => [
            { text: `${nth > 0 ? `${key.right},${key.indent}` : ""}${key.name}` },
            key.piece,
          ]),
          { text: `${space}}${tail}` },
        ];
      const lines = keys.flatMap((key) => [
        {
          text: `${key.above}${key.indent}${form === "dotted" ? `${name}${space}.${key.right}` : ""}${key.name}`,
        },
        key.piece,
        { text: key.tail },
      ]);
      return form === "dotted"
        ? lines
        : [{ text: `${above}${space}[${space}${name}${space}]${tail}` }, ...lines];
    });
}

const others = fc.constantFrom(
  '[api]\nport = 8000 # x\nlisten = [\n "::", # y\n]\n',
  "[hooks]\non_scan = \"\"\"\n[readers]\ndetect = true # \"\" \\\n\"\"\"\non_stop = '''a\n#b'''''\n",
  '[[launchers]]\nid = "a"\ncommand = ["x", "{path}"] # z\n\n[[ "launchers" ]]\nid = \'b\'\ncommand = [\n\'x\', \'{path}\']\n',
  "[script]\nallow_http = ['a', \"b\"]\n",
);

const file: fc.Arbitrary<readonly Piece[]> = fc
  .tuple(
    fc.tuple(
      ...Object.keys(keysOf).map((name) =>
        fc
          .constantFrom<Form>("header", "header", "dotted", "inline", "absent")
          .map((form) => ({ name, form })),
      ),
    ),
    fc.uniqueArray(others),
    blankLines,
    fc.constantFrom("\n", "\r\n"),
    fc.boolean(),
    fc.constantFrom("", "", "", "\ufeff"),
  )
  .chain(([sections, rest, end, lineEnd, isClosed, mark]) => {
    const isTop = ({ form }: { form: Form }) => form === "dotted" || form === "inline";
    const made = (wanted: boolean) =>
      sections.filter((one) => isTop(one) === wanted).map(({ name, form }) => sectionPieces(name, form));
    const below = [...made(false), ...rest.map((text) => fc.constant([{ text }]))];
    return fc
      .tuple(fc.tuple(...made(true)), fc.tuple(...below), fc.array(fc.nat(), { minLength: 8, maxLength: 8 }))
      .map(([top, heads, order]) => {
        const shuffled = heads
          .map((head, nth) => ({ head, at: order[nth] ?? 0 }))
          .toSorted((a, b) => a.at - b.at);
        const pieces: Piece[] = [
          { text: mark },
          ...top.flat(),
          ...shuffled.flatMap(({ head }) => head),
          { text: end },
        ];
        const last = pieces.findLast(({ text }) => text !== "");
        return pieces
          .map((piece) =>
            piece === last && !isClosed ? { ...piece, text: piece.text.replace(/\n$/, "") } : piece,
          )
          .map((piece) => ({ ...piece, text: piece.text.replaceAll("\n", lineEnd) }));
      });
  });

const anyPatch: fc.Arbitrary<SettingsPatch> = fc.oneof(
  fc.record({ reader: wordsList }),
  fc.record({ insertModeBlocklist: wordsList }),
  fc.record({ rootFolder: wordsList }),
  fc.record({
    insertModeExitDelay: fc.oneof(
      fc.integer({ min: 0, max: 86_400 }),
      fc.double({ min: 0, max: 86_400, noNaN: true }),
    ),
  }),
  fc.record({ detectReaders: fc.boolean() }),
  fc.record({ insertMode: fc.boolean() }),
  fc.record({ audioFeedback: fc.boolean() }),
  fc.record({ consoleLogging: fc.boolean() }),
  fc.record({ debug: fc.boolean() }),
);

/** The possible insertions into `before` that make `after`; none if more changed. */
function insertedInto(before: string, after: string): readonly string[] {
  const length = after.length - before.length;
  return Array.from({ length: before.length + 1 }, (_, at) => at)
    .filter((at) => after.startsWith(before.slice(0, at)) && after.endsWith(before.slice(at)))
    .map((at) => after.slice(at, at + length));
}

test("1,000 random edits of random commented files change only the value that was asked for, to the byte", () => {
  const seen = { present: 0, absent: 0, same: 0 };
  fc.assert(
    fc.property(file, anyPatch, (pieces, patch) => {
      const before = pieces.map(({ text }) => text).join("");
      const [edit] = editsOf(checkPatch(patch, { reader: () => undefined, system: () => undefined }));
      if (edit === undefined) throw new Error("no edit");
      const config = configOf(before, "config.toml", "/data");
      const after = patched(before, edit);
      expect(configOf(after, "config.toml", "/data")).toEqual(withPatch(config, patch, "/data"));
      const place = pieces.findIndex(({ setting }) => setting === `${edit.section}.${edit.key}`);
      const [text, old] = [
        (from: number, to?: number) =>
          pieces
            .slice(from, to)
            .map((one) => one.text)
            .join(""),
        pieces[place],
      ];
      if (old === undefined) {
        seen.absent++;
        const inserted = insertedInto(before, after);
        const line = new RegExp(
          `^[\\s,]*(\\[${edit.section}\\]\\s+|\\S+\\.)?(\\{ )?${edit.key} = ${RegExp.escape(literalOf(edit.value))}[\\s}]*$`,
        );
        // An empty inline table is written again; all other text stays.
        if (inserted.length === 0) expect(before).toMatch(/=\s*\{\s*\}/);
        else expect(inserted.filter((one) => line.test(one))).not.toEqual([]);
        return;
      }
      const [head, tail] = [text(0, place), text(place + 1)];
      expect(after.startsWith(head)).toBe(true);
      expect(after.slice(head.length).endsWith(tail)).toBe(true);
      const value = after.slice(head.length, after.length - tail.length);
      if (after === before) seen.same++;
      else seen.present++;
      // Comments within a list also stay, in their order.
      let at = 0;
      for (const words of old.comments ?? []) {
        at = value.indexOf(words, at);
        expect(at).toBeGreaterThanOrEqual(0);
        at += words.length;
      }
    }),
    { seed: 3, numRuns: 1000 },
  );
  expect(Math.min(seen.present, seen.absent, seen.same)).toBeGreaterThan(20);
});

function literalOf(value: SettingValue): string {
  return typeof value === "object"
    ? `[${value.map((one) => (typeof one === "string" ? basic(one) : one)).join(", ")}]`
    : String(value);
}
