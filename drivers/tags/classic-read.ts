/** Reading a MIFARE Classic: its directory says in which sectors the message stands, and public keys open them. */
import type { Sighting } from "../../src/core/token.ts";
import { blockBytes, dataBlocksOf, sectorOf } from "../protocol/classic.ts";
import { findMessage } from "../protocol/tlv.ts";
import { type ClassicCard, classicCard, contentOfCard, keys } from "./classic-card.ts";
import { sightingOfMessage, sightingWithout } from "./sighting.ts";
import type { TagChannel } from "./tag-channel.ts";
import type { TypeATarget } from "./tag-type.ts";

const triesMax = 3;
const dataBytesWithoutMessage = 16;

/** The sighting of a MIFARE Classic; undefined where it left. */
export async function readClassic(
  channel: TagChannel,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  const card = classicCard(channel, target, signal);
  for (let tries = 1; ; tries++) {
    const sighting = await readOnce(card, target);
    if (sighting !== undefined) return sighting;
    if (!(await card.reselect())) return undefined;
    if (tries === triesMax) return sightingWithout(target, "MIFARE", "unreadable");
  }
}

async function readOnce(card: ClassicCard, target: TypeATarget): Promise<Sighting | undefined> {
  const content = await contentOfCard(card);
  switch (content.kind) {
    case "failed":
      return undefined;
    case "locked":
      return sightingWithout(target, "MIFARE", "locked");
    case "fresh":
    case "no-directory":
      return sightingWithout(target, "MIFARE", "unformatted");
    case "directory":
      if (content.ndefSectors.length === 0) return sightingWithout(target, "MIFARE", "unformatted");
      return readArea(card, target, dataBlocksOf(content.ndefSectors));
  }
}

/** Block after block, until the message ends. */
async function readArea(
  card: ClassicCard,
  target: TypeATarget,
  blocks: readonly number[],
): Promise<Sighting | undefined> {
  const whole = new Uint8Array(blocks.length * blockBytes);
  for (let known = 0; ; known += blockBytes) {
    const area = whole.subarray(0, known);
    const found = findMessage(area, whole.length);
    if (found.kind === "message") {
      const message = area.subarray(found.start, found.end);
      return sightingOfMessage(target, "MIFARE", message, area.subarray(0, found.end));
    }
    if (found.kind === "none") {
      const data = area.subarray(0, dataBytesWithoutMessage);
      return sightingWithout(target, "MIFARE", found.why === "cut-short" ? "half-written" : "blank", data);
    }
    const block = blocks[known / blockBytes];
    if (block === undefined) return undefined;
    const key = await card.open(sectorOf(block), [keys.ndef, keys.transport]);
    // It lies there, and keeps this sector to itself.
    if (key === undefined) return card.hasLeft ? undefined : sightingWithout(target, "MIFARE", "locked");
    const bytes = await card.read(block);
    if (bytes === undefined) return undefined;
    whole.set(bytes, known);
  }
}
