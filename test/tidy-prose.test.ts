/** The rules of the house for sentences: plain words, a noun as the subject, and documents that a reader can open. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { read, root, sources, tracked } from "./helpers/source-tree.ts";

/** Comments of sources, and documents without their code blocks and code spans. */
const prose = [
  ...sources.filter((file) => file.endsWith(".ts")).map((file) => [file, commentsOf(read(file))] as const),
  ...tracked
    .filter((file) => /^([A-Z]+\.md|docs\/.*\.md|buildroot\/HARDWARE\.md)$/.test(file))
    .map(
      (file) =>
        [
          file,
          read(file)
            .replace(/^```[\s\S]*?^```/gm, "")
            .replace(/`[^`]*`/g, "x"),
        ] as const,
    ),
];

test("no sentence begins with a bare Who, Whoever, What or Whose", () => {
  const wrong = prose.flatMap(([file, text]) =>
    [
      ...text.matchAll(
        /(?:^|[.:;!?]\s+|\*\*|\|\s*|^\s*[-*]\s+)((?:Who|Whoever|Whatever|What|Whose)\s[^.?!]{0,40})/gm,
      ),
    ]
      .map(([, words = ""]) => `${file}: ${words}`)
      .filter((found) => !found.includes("?")),
  );
  expect(wrong).toEqual([]);
});

/** Words that had to be read twice, or that are metaphors. */
const wordsToAvoid = [
  "anew",
  "till",
  "from afar",
  "is told",
  "are told",
  "tells of",
  "told of",
  "says no",
  "of its own accord",
  "out of it",
  "whoever",
  "come in by",
];

test("prose keeps to plain words", () => {
  const pattern = new RegExp(`\\b(${wordsToAvoid.join("|")})\\b`, "gi");
  const wrong = prose.flatMap(([file, text]) =>
    [...text.matchAll(pattern)].map(([word]) => `${file}: ${word}`),
  );
  expect(wrong).toEqual([]);
});

test("comments cite what a reader can open", () => {
  const wrong = sources
    .filter((file) => file.endsWith(".ts"))
    .filter((file) =>
      /\((?:the )?(?:decisions|contract)[,)]|\b(?:Decisions|Contract), "/.test(commentsOf(read(file))),
    );
  expect(wrong).toEqual([]);
  const missing = prose.flatMap(([file, text]) =>
    [
      ...text.matchAll(
        /(?<!Linux, )\b(?:src|drivers|test|docs|tools|overlay|buildroot|watchdog|packaging)\/[\w./-]+\.(?:ts|md|c|h|cfg|conf)\b/g,
      ),
    ]
      .map(([path]) => path)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

/** The text of the comments with their line breaks, without the code between backticks. */
function commentsOf(text: string): string {
  const comments = text.replace(/"(?:[^"\\\n]|\\.)*"/g, '""').match(/\/\*[\s\S]*?\*\/|\/\/.*$/gm) ?? [];
  return comments
    .join("\n")
    .replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/) ?/gm, "")
    .replace(/`[^`]*`/g, "x");
}
