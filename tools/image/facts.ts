/**
 * The content of an image that Buildroot makes, from buildroot/facts. Each line has an option, a colon and the programs
 * that the option brings. After these lines come the options of BusyBox that differ from its defaults.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./meta.ts";

export interface ImageFacts {
  /** The names of the programs by option. A longer list has several lines. */
  readonly programsOf: ReadonlyMap<string, readonly string[]>;
  readonly programs: ReadonlySet<string>;
  /** Options of BusyBox, without `CONFIG_`. */
  readonly busybox: { readonly on: readonly string[]; readonly off: readonly string[] };
}

export function readFacts(): ImageFacts {
  const lists = new Map<string, readonly string[]>();
  for (const line of readFileSync(join(root, "buildroot/facts"), "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, option, names] = /^(\w+): (\S.*)$/.exec(line) ?? [];
    if (option === undefined || names === undefined)
      throw new Error(`buildroot/facts: "${line}" is not OPTION: names`);
    lists.set(option, [...(lists.get(option) ?? []), ...names.split(" ")]);
  }
  const busybox = { on: lists.get("BUSYBOX_ON") ?? [], off: lists.get("BUSYBOX_OFF") ?? [] };
  const programsOf = new Map([...lists].filter(([option]) => !option.startsWith("BUSYBOX_")));
  return { programsOf, programs: new Set([...programsOf.values()].flat()), busybox };
}
