/** Launch scripts: the time to parse the longest and worst of them. */
import { scriptBytesMax } from "../../src/core/limits.ts";
import { parseScript } from "../../src/script/parser.ts";
import { line, quantile, spread, title } from "./figures.ts";

const filled =
  (unit: string, head = "") =>
  (bytes: number) =>
    head + unit.repeat(Math.max(0, Math.floor((bytes - head.length) / unit.length)));

/** Scripts of this many bytes that a careless parser would read again and again, by their pieces. */
export const hostileScripts: Readonly<Record<string, (bytes: number) => string>> = {
  "plain text": filled("a"),
  "white space": filled(" "),
  "white space in a value": filled(" ", "**echo:a"),
  escapes: filled("^"),
  "escaped line ends": filled("^n"),
  "question marks": filled("?"),
  "options in options": filled("?a="),
  "options that break off": filled("?a=&"),
  "options that break off late": filled("?a=1&b=2&!"),
  "options with quotes": filled("?a='"),
  "options with quotes that end": filled("?a='b'&"),
  "long keys": filled("?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
  "one long key": filled("a", "?"),
  "one long key after another": filled("a", "?x=1&"),
  "many options": filled("a=b&", "x?"),
  quotes: filled("'"),
  "quoted pieces": filled("'a',", "**echo:"),
  "one quote without end": filled("a", "**echo:'"),
  commas: filled(",", "**echo:"),
  bars: filled("|a"),
  brackets: filled("["),
  "a name without end": filled("a", "**"),
  "many expressions": filled("[[1+2]]", "**echo:"),
  "long expressions": filled(`[[${"1+".repeat(120)}1]]`, "**echo:"),
  "expressions in options that break off": filled("?a=[[1]]&!", "x"),
  "one long text in an expression": filled("a", '**echo:[["'),
  "one long variable": filled("a", "[["),
  "one long number": filled("1", "[["),
  "brackets in an expression": filled("(", "[["),
  "white space in an expression": filled(" ", "[[1"),
  titles: filled("(a) ", "@SNES/x "),
  braces: filled("{", "**echo:"),
  "JSON arguments": filled('{"a":1},', "**echo:"),
  traits: filled("#a=1 "),
  "traits in quotes": filled("#a='b' "),
  "traits in quotes that do not match": filled("#a='\"||"),
  "options of a bare command": filled("a&", "**stop?"),
  "options of a bare command that break off": filled("?a&!", "**stop"),
  "a text to type": filled("?when=a&b=", "**input.text:"),
  "conditions in a text to type": filled("?when=1", "**input.text:"),
};

const rounds = 40;

export function measureScripts(): void {
  title(
    `Launch scripts: ${scriptBytesMax / 1024} KiB of each of ${Object.keys(hostileScripts).length} hostile kinds, ${rounds} times`,
  );
  const measured = Object.entries(hostileScripts).map(([name, make]) => {
    const script = make(scriptBytesMax);
    const samples = Array.from({ length: rounds }, () => {
      const startedMs = performance.now();
      parseScript(script);
      return performance.now() - startedMs;
    });
    return { name, samples };
  });
  const all = measured.flatMap(({ samples }) => samples);
  line("all of them", spread(all, "ms"), "5 ms");
  const [slowest] = measured
    .map(({ name, samples }) => ({ name, ms: quantile(samples, 0.5) }))
    .sort((a, b) => b.ms - a.ms);
  line(`the slowest kind (${slowest?.name})`, `median ${slowest?.ms.toFixed(2)} ms`, "5 ms");
  // The first script of each kind is parsed by code that the runtime has not compiled yet.
  line(
    "the first reading of each kind",
    spread(
      measured.map(({ samples }) => samples[0] ?? Number.NaN),
      "ms",
    ),
  );
}
