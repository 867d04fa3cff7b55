/**
 * An endless series of odd launch scripts, the same for the same seed; and trees without their places, which can be compared.
 */

import type { Command } from "../../src/script/syntax.ts";
import { seededRandom } from "../emulators/emulated-line.ts";

const pieces = [
  ..."*|:,?&=^'\"[]@ \n\tantr019.é!<>+()\ud83c\u2028\0",
  ..."** || ^^ [[ ]] ]]] == != && **echo: **input.text: **traits: ?a #a= { } {} # ?when= ?a= &b= platform media_playing true 12.5 \"x\" 'y' SNES/Game".split(
    " ",
  ),
];

/** Yields scripts: pieces in any order, or one of `models` with some of its pieces added, removed or doubled. */
export function* oddScripts(models: readonly string[], seed: number): Generator<string, never> {
  const next = seededRandom(seed);
  const below = (end: number) => Math.floor(next() * end);
  const piece = () => pieces[below(pieces.length)] ?? "";
  for (;;) {
    if (next() < 0.4) {
      yield Array.from({ length: below(24) }, piece).join("");
      continue;
    }
    let script = models[below(models.length)] ?? "";
    for (let changes = 1 + below(4); changes > 0; changes--) {
      const [at, length] = [below(script.length + 1), below(4)];
      const cut = script.slice(at, at + length);
      const put = [piece(), "", cut + cut, piece() + cut][below(4)] ?? "";
      script = script.slice(0, at) + put + script.slice(at + length);
    }
    yield script;
  }
}

/** The meaning of a tree, without the places of its source. */
export function shapeOf(commands: readonly Command[]) {
  return commands.map(({ name, args, options }) => ({ name, args, options: [...options] }));
}
