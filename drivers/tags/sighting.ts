/** What a reader tells of a tag, out of what was read of it. */
import { toHex } from "../../src/core/hex.ts";
import type { Sighting, TagProblem, TagType } from "../../src/core/token.ts";
import { parseMessage, textOf } from "../protocol/ndef.ts";
import type { Target } from "./tag-channel.ts";

const nothing = new Uint8Array();

/** A tag that carries this message; `data` is the memory up to its end, as `Sighting.data` describes it. */
export function sightingOfMessage(
  target: Target,
  type: TagType,
  message: Uint8Array,
  data: Uint8Array,
): Sighting {
  const parsed = parseMessage(message);
  if (parsed.kind === "broken") return sightingWithout(target, type, "half-written", data);
  const text = textOf(parsed.records);
  if (text) return { type, uid: uidOf(target), text, data: toHex(data) };
  // An empty record is what phones format a tag with.
  const isEmpty = text === "" || parsed.records.every(({ tnf }) => tnf === 0);
  return sightingWithout(target, type, isEmpty ? "blank" : "other-message", data);
}

/** A tag without a text, and why. */
export function sightingWithout(
  target: Target,
  type: TagType,
  problem?: TagProblem,
  data: Uint8Array = nothing,
): Sighting {
  const sighting = { type, uid: uidOf(target), text: "", data: toHex(data) };
  return problem === undefined ? sighting : { ...sighting, problem };
}

function uidOf(target: Target): string {
  return toHex(target.kind === "felica" ? target.idm : target.uid);
}
