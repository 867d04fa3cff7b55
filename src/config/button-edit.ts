/**
 * Changes one `[[buttons]]` section in the text of the config file. The other text stays as it is, and the parser confirms the
 * result. Sections in another form, such as `buttons = [...]`, are left for their owner to edit.
 */
import { isRecord } from "../core/text.ts";
import { parseToml } from "./read-config.ts";
import { tomlLiteral } from "./toml-list-edit.ts";

/** A button of a device, or of every device if none is named. */
export interface ButtonPlace {
  readonly device?: string | undefined;
  /** The name of the key in the file, such as `KEY_VOLUMEUP`. */
  readonly key: string;
}

export interface ButtonChange extends ButtonPlace {
  /** The script of the button; undefined removes the button. */
  readonly script: string | undefined;
}

const head = /^\s*\[\[\s*buttons\s*\]\]\s*(?:#.*)?$/;
const anyHead = /^\s*\[/;
const notable = /^\s*(?!#)\S/;
const comment = /^\s*#/;

/** The changed text; undefined if this function cannot make the change safely. */
export function editButtons(source: string, change: ButtonChange): string | undefined {
  const before = treeOf(source);
  const present: readonly unknown[] = Array.isArray(before.buttons) ? before.buttons : [];
  const lines = source.split("\n");
  const heads = lines.flatMap((line, at) => (head.test(line) ? [at] : []));
  if (heads.length !== present.length) return undefined;
  const nth = present.findIndex((one) => isAt(one, change));
  if (nth < 0 && change.script === undefined) return source;
  const wanted = [...present];
  if (change.script === undefined) wanted.splice(nth, 1);
  else wanted.splice(nth < 0 ? present.length : nth, nth < 0 ? 0 : 1, tableOf(change));
  const candidate =
    nth < 0
      ? `${source.replace(/\n*$/, source.trim() === "" ? "" : "\n\n")}${sectionOf(change)}\n`
      : replaced(lines, heads[nth] ?? 0, change);
  try {
    const { buttons: _before, ...rest } = before;
    const expected = wanted.length === 0 ? rest : { ...rest, buttons: wanted };
    return Bun.deepEquals(treeOf(candidate), expected) ? candidate : undefined;
  } catch {
    // The head is inside a text of several lines, so the candidate is no TOML.
    return undefined;
  }
}

/** True for the entry of this device and key. The case of the key does not matter. */
function isAt(entry: unknown, { device, key }: ButtonPlace): boolean {
  if (!isRecord(entry) || typeof entry.key !== "string") return false;
  return entry.device === device && entry.key.trim().toUpperCase() === key.trim().toUpperCase();
}

function replaced(lines: readonly string[], start: number, change: ButtonChange): string {
  const next = lines.findIndex((line, at) => at > start && anyHead.test(line));
  const last = lines.slice(0, next < 0 ? lines.length : next).findLastIndex((line) => notable.test(line));
  const own = lines.slice(start, last + 1);
  const before = lines.slice(0, start);
  const after = lines.slice(last + 1);
  if (change.script !== undefined) {
    const comments = own.slice(1).filter((line) => comment.test(line));
    return [...before, ...comments, sectionOf(change), ...after].join("\n");
  }
  // One blank line separated it from the text before.
  if (before.at(-1)?.trim() === "") before.pop();
  return [...before, ...after].join("\n");
}

function sectionOf({ device, key, script = "" }: ButtonChange): string {
  const place = device === undefined ? [] : [`device = ${tomlLiteral(device)}`];
  return ["[[buttons]]", ...place, `key = ${tomlLiteral(key)}`, `script = ${tomlLiteral(script)}`].join("\n");
}

function tableOf({ device, key, script = "" }: ButtonChange) {
  return { ...(device === undefined ? {} : { device }), key, script };
}

function treeOf(source: string): Readonly<Record<string, unknown>> {
  const tree = parseToml(source);
  // The parser's tables have no prototype.
  return isRecord(tree) ? { ...tree } : {};
}
