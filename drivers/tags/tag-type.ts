/** What a target of type A is, by what it said when it was selected (NXP AN10833, section 3). */
import type { TagType } from "../../src/core/token.ts";
import type { Target } from "./tag-channel.ts";

export type TypeATarget = Extract<Target, { kind: "type-a" }>;
export type FelicaTarget = Extract<Target, { kind: "felica" }>;

/** SAK bit 20: it speaks ISO/IEC 14443-4. */
export function isIsoDep({ sak }: TypeATarget): boolean {
  return (sak & 0x20) !== 0;
}

/** SAK 08 (1K), 09 (Mini), 18 (4K), those of other makers with bit 80, MIFARE Plus among them, and 01 and 19. */
export function isClassic({ sak }: TypeATarget): boolean {
  return (sak & 0x09) !== 0 || sak === 0x18;
}

const desfireAtqa = 0x0344;
const desfireHistorical = 0x80; // The one historical byte of a DESFire's ATS (MF3ICDx, 9.4).

export function isoDepType({ uid, atqa, historicalBytes }: TypeATarget): TagType {
  // Other cards with seven bytes of UID have this ATQA, too.
  const isDesfire =
    historicalBytes?.length === 1 &&
    historicalBytes[0] === desfireHistorical &&
    (atqa === undefined || atqa === desfireAtqa || uid.length === 4);
  return isDesfire ? "DESFire" : "ISO14443-4";
}
