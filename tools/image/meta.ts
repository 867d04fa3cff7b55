/** Version, ids and sizes of the image, read from the one file that states them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dir, "../..");
export const metaPath = join(root, "buildroot/board/common/meta");

export interface Meta {
  /** All values by name, as an environment for genimage and shell scripts. */
  readonly environment: Readonly<Record<string, string>>;
  readonly version: string;
  /** The id of the partition table in eight hex digits. */
  readonly diskId: string;
  readonly bootMib: number;
  readonly slotMib: number;
  readonly dataMib: number;
}

/** Throws a sentence if a line is not NAME=value, or if a value is missing. */
export function readMeta(path = metaPath): Meta {
  const environment: Record<string, string> = {};
  for (const line of readFileSync(path, "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, name, value] = /^(TAPDECK_[A-Z_]+)=([\w.-]+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`${path}: "${line}" is not NAME=value`);
    environment[name] = value;
  }
  const text = (name: string) => {
    const value = environment[name];
    if (value === undefined) throw new Error(`${path} has no ${name}`);
    return value;
  };
  const number = (name: string) => {
    const value = Number(text(name));
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${path}: ${name} is no number of MiB`);
    return value;
  };
  return {
    environment,
    version: text("TAPDECK_VERSION"),
    diskId: text("TAPDECK_DISK_ID"),
    bootMib: number("TAPDECK_BOOT_MIB"),
    slotMib: number("TAPDECK_SLOT_MIB"),
    dataMib: number("TAPDECK_DATA_MIB"),
  };
}
