/** The programs of an image that Buildroot makes, from buildroot/facts: an option, a colon and the names that it brings, a line each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./meta.ts";

export interface ImageFacts {
  /** The names of the programs by option; a longer list has several lines. */
  readonly programsOf: ReadonlyMap<string, readonly string[]>;
  readonly programs: ReadonlySet<string>;
}

export function readFacts(): ImageFacts {
  const programsOf = new Map<string, readonly string[]>();
  for (const line of readFileSync(join(root, "buildroot/facts"), "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, option, names] = /^(\w+): (\S.*)$/.exec(line) ?? [];
    if (option === undefined || names === undefined)
      throw new Error(`buildroot/facts: "${line}" is not OPTION: names`);
    programsOf.set(option, [...(programsOf.get(option) ?? []), ...names.split(" ")]);
  }
  return { programsOf, programs: new Set([...programsOf.values()].flat()) };
}
