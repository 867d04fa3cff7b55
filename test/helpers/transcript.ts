/**
 * Transcripts of the API, one format for all: `>` we send, `<` we receive, `=` a notification, `=*` any number of that
 * notification, `#` why. In expected messages, `"*"` stands for any value, and `"..."` at the end of a list for any further
 * items.
 */

export type Step =
  | { readonly kind: "send"; readonly text: string; readonly line: number }
  | { readonly kind: "receive"; readonly expected: unknown; readonly line: number }
  | { readonly kind: "events"; readonly name: string; readonly line: number }
  | {
      readonly kind: "event";
      readonly name: string;
      readonly expected: unknown;
      readonly line: number;
    };

export function readTranscript(text: string): readonly Step[] {
  return text.split("\n").flatMap((whole, index): Step[] => {
    const line = index + 1;
    const rest = whole.slice(2);
    switch (whole[0]) {
      case ">":
        return [{ kind: "send", text: rest, line }];
      case "<":
        return [{ kind: "receive", expected: JSON.parse(rest), line }];
      case "=": {
        if (whole.startsWith("=* ")) return [{ kind: "events", name: whole.slice(3), line }];
        const [name = "", ...params] = rest.split(" ");
        const expected = params.join(" ");
        return [{ kind: "event", name, expected: expected === "*" ? "*" : JSON.parse(expected), line }];
      }
      case "#":
      case undefined:
        return [];
      default:
        throw new Error(`line ${line} begins with none of > < = #`);
    }
  });
}

/** The first difference between `actual` and `expected`, as a path with both; undefined if they agree. */
export function difference(expected: unknown, actual: unknown, path = ""): string | undefined {
  if (expected === "*" && actual !== undefined) return undefined;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const open = expected.at(-1) === "...";
    const listed = open ? expected.slice(0, -1) : expected;
    if (!open && actual.length !== listed.length)
      return `${path}: ${listed.length} items expected, not ${actual.length}`;
    return firstDifference(listed.map((item, index) => [item, actual[index], `${path}[${index}]`]));
  }
  if (isObject(expected) && isObject(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return firstDifference([...keys].map((key) => [expected[key], actual[key], `${path}.${key}`]));
  }
  return Object.is(expected, actual)
    ? undefined
    : `${path}: ${JSON.stringify(expected)} expected, not ${JSON.stringify(actual)}`;
}

function firstDifference(pairs: readonly (readonly [unknown, unknown, string])[]): string | undefined {
  for (const [expected, actual, path] of pairs) {
    const found = difference(expected, actual, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
