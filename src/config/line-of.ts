/** Where a setting stands in the text of a config file: the TOML parser hands over values without their places. */

export interface Place {
  /** `section.key`, or the name of a section or of a key of the file itself. */
  readonly key: string;
  /** Of several sections with one name, which: from 0. */
  readonly nth: number;
}

/** The line of a key, from 1: the one that sets it, else the head of its section; undefined where neither is found. */
export function lineOf(source: string, { key, nth }: Place): number | undefined {
  const [section = "", name] = key.split(".");
  const lines = source.split("\n").map((line) => (/^\s*#/.test(line) ? "" : line));
  const heads = lines.flatMap((line, at) => (headOf(line) === undefined ? [] : [at]));
  const own = heads.filter((at) => headOf(lines[at] ?? "") === section)[nth];
  const last = heads.find((at) => own !== undefined && at > own) ?? lines.length;
  const found =
    own === undefined || name === undefined ? undefined : lineSetting(lines.slice(own, last), name);
  if (own !== undefined) return own + 1 + (found ?? 0);
  // `section.key = 1` and `section = { key = 1 }` stand before every head.
  const top = lines.slice(0, heads[0]);
  const at = lineSetting(top, key) ?? lineSetting(top, section);
  return at === undefined ? undefined : at + 1;
}

/** `name` of `[name]` and `[[name]]`. */
function headOf(line: string): string | undefined {
  return /^\s*\[\[?\s*["']?([^\]"']*?)["']?\s*\]/.exec(line)?.[1];
}

function lineSetting(lines: readonly string[], name: string): number | undefined {
  const form = new RegExp(`^\\s*["']?${RegExp.escape(name)}["']?\\s*[=.]`);
  const index = lines.findIndex((line) => form.test(line));
  return index < 0 ? undefined : index;
}
