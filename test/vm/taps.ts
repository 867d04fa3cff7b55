/**
 * Cards on readers of a virtual machine, each of which is reported, launched and removed once; and readers that are
 * plugged and unplugged.
 */
import { expect } from "bun:test";
import { createType2Tag, type EmulatedTag } from "../emulators/emulated-tags.ts";
import type { Deck } from "./deck.ts";

/** A card whose media play until they are stopped. */
export const film = "film.card";
/** Media for a player in the guest, which prints its arguments. */
export const cards: readonly string[] = ["one.card", "two.card", "three.card"];
export const cardConfig = `[script]
allow_input = true
[[launchers]]
id = "player"
systems = ["SNES"]
extensions = [".card"]
command = ["player", "{path}"]
[[buttons]]
device = "vivid*"
key = "KEY_RED"
script = "SNES/one.card"
`;
export const cardFiles = {
  "/usr/bin/player": `#!/bin/sh\necho "$1" >> /tmp/played\ncase "$1" in */${film}) exec sleep 600 ;; esac\n`,
  [`/data/media/SNES/${film}`]: "",
  ...Object.fromEntries(cards.map((name) => [`/data/media/SNES/${name}`, ""])),
};
const plugs = 2;

/** One reader of the machine, with functions that move it and the cards on it. */
export interface Bench {
  readonly driver: string;
  plug(): void;
  unplug(): unknown;
  lay(name: string): unknown;
  lift(): void;
  /** The index of the notification from which on reports are counted, for a reader that may need several tries. */
  readonly since?: () => number;
}

export function card(name: string): EmulatedTag {
  const uid = Uint8Array.of(0x04, 1, 2, 3, 4, 5, cards.indexOf(name));
  return createType2Tag("ntag215", { uid, text: `SNES/${name}` });
}

/** One tap: the card is reported once, its player runs, and its removal is reported once. */
export async function launches(deck: Deck, { driver, lay, lift, since }: Bench, name: string): Promise<void> {
  const begun = deck.heard();
  await deck.guest.ask("rm -f /tmp/played");
  await lay(name);
  const from = since?.() ?? begun;
  await deck.tells(from, "tokens.added", name);
  await deck.tells(from, "media.started", name);
  lift();
  await deck.tells(from, "tokens.removed", name);
  await deck.tells(from, "media.stopped", name);
  expect(await deck.guest.ask("cat /tmp/played")).toBe(`/data/media/SNES/${name}`);
  expect(deck.count(from, "tokens.added", driver)).toBe(1);
  expect(deck.count(from, "tokens.removed", driver)).toBe(1);
  expect(deck.count(from, "media.started", "")).toBe(1);
}

/** Pulls the reader out and plugs it in, several times. Each change is reported once, and the reader works. */
export async function replugs(deck: Deck, bench: Bench, name: string): Promise<void> {
  const { driver } = bench;
  for (let round = 0; round < plugs; round++) {
    const [from, excused] = [deck.heard(), excuses(deck, driver)];
    await bench.unplug();
    await deck.tells(from, "readers.removed", driver);
    bench.plug();
    await deck.tells(from, "readers.added", driver);
    await launches(deck, bench, name);
    const most = 1 + excuses(deck, driver) - excused;
    expect(deck.count(from, "readers.added", driver)).toBeLessThanOrEqual(most);
    expect(deck.count(from, "readers.removed", driver)).toBe(deck.count(from, "readers.added", driver));
  }
}

/** The number of log lines about a late answer of this reader, which occur on a busy machine. */
function excuses(deck: Deck, driver: string): number {
  const late = new RegExp(`(does not answer|sent no answer).* reader=${driver}`, "g");
  return [...deck.log().matchAll(late)].length;
}
