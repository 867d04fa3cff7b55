/** A target as a PN532 lists it, and whether it still lies there, which is also how it is selected again. */
import {
  listOneFelica,
  listOneTypeA,
  parseFelicaTarget,
  parseTypeATarget,
  type TypeATarget,
} from "../protocol/pn532-commands.ts";
import type { Target } from "../tags/tag-channel.ts";
import { isSameTarget } from "../tags/target-identity.ts";
import type { Caller } from "./chip.ts";

// Listing a target that is there takes some 10 ms; this one may have left.
const relistMs = 100;

/** A target of this kind; undefined where there is none. */
export async function listOne(
  chip: Caller,
  kind: Target["kind"],
  signal: AbortSignal,
): Promise<Target | undefined> {
  const { command, parse } = listings[kind];
  return parse(await chip.call(command, signal));
}

/** Selects the target again; false where it is gone or another lies there. */
export async function isStillThere(chip: Caller, target: Target, signal: AbortSignal): Promise<boolean> {
  const { command, parse } = listings[target.kind];
  const answer = await chip.callFor(command, relistMs, signal);
  if (answer === undefined) {
    await chip.abort();
    return false;
  }
  const found = parse(answer);
  return found !== undefined && isSameTarget(found, target);
}

/** What the answer to a listing of this kind tells; undefined where it is of no target. */
export function targetIn(kind: Target["kind"], answer: Uint8Array): Target | undefined {
  return listings[kind].parse(answer);
}

function typeAIn(answer: Uint8Array): Target | undefined {
  const found = parseTypeATarget(answer);
  return typeof found === "object" ? targetOf(found) : undefined;
}

function felicaIn(answer: Uint8Array): Target | undefined {
  const found = parseFelicaTarget(answer);
  return typeof found === "object" ? { kind: "felica", ...found } : undefined;
}

interface Listing {
  readonly command: Uint8Array;
  readonly parse: (answer: Uint8Array) => Target | undefined;
}

const listings: Readonly<Record<Target["kind"], Listing>> = {
  "type-a": { command: listOneTypeA, parse: typeAIn },
  felica: { command: listOneFelica, parse: felicaIn },
};

/** The ATS begins with a format byte, whose bits 10, 20 and 40 tell of one more each (ISO/IEC 14443-4, 5.2.3). */
function targetOf({ uid, atqa, sak, ats }: TypeATarget): Target {
  const target = { kind: "type-a", uid, atqa, sak } as const;
  const [format] = ats;
  if (format === undefined) return target;
  const historicalAt = 1 + ((format >> 4) & 1) + ((format >> 5) & 1) + ((format >> 6) & 1);
  return { ...target, historicalBytes: ats.subarray(historicalAt) };
}
