/** Finds JSON that costs more than its sender may cause, before it is parsed: too deep, or with too many values. */
import { jsonDepthMax } from "./limits.ts";

type JsonExcess = "depth" | "values";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * The first limit that the text exceeds; undefined for none. Reads the marks only, so the text need not be JSON. Each
 * comma, colon and opening bracket outside of strings counts as one value, because a parser makes at most one value for
 * each, and one for the whole text.
 */
export function jsonExcess(text: string, valuesMax = Number.POSITIVE_INFINITY): JsonExcess | undefined {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      at = endOfString(text, at);
      if (at < 0) return undefined;
    } else if (char === openList || char === openObject) {
      depth += 1;
      values += 1;
      if (depth > jsonDepthMax) return "depth";
    } else if (char === closeList || char === closeObject) depth -= 1;
    else if (char === comma || char === colon) values += 1;
    if (values > valuesMax) return "values";
  }
  return undefined;
}

/** The place of the closing quote; -1 if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === backslash) first -= 1;
    // An even number of backslashes escapes itself.
    if ((end - first) % 2 === 0) return end;
  }
  return -1;
}
