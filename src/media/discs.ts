/**
 * Discs of one game without a list: files of one folder whose names differ only in the number of the disc. Redump and
 * TOSEC write such names: `Game (USA) (Disc 1).chd` and `Game (USA) (Disc 2).chd`, or `(Disk 1 of 3)`, or `(CD 1)`.
 */
const discMark = /\((?:disc|disk|cd)\s*(\d{1,2})(?:\s+of\s+\d{1,2})?\)/i;

export function isNamedAsDisc(name: string): boolean {
  return discMark.test(name);
}

/** The names of the discs of this game in order, the first one first; none if it has one disc, or no first one. */
export function discsOfGame(name: string, names: readonly string[]): readonly string[] {
  const game = discOf(name)?.game;
  return game === undefined ? [] : (gamesOf(names).get(game) ?? []);
}

/** The later discs of each game, which the first disc represents. */
export function laterDiscs(names: readonly string[]): readonly string[] {
  return [...gamesOf(names).values()].flatMap((discs) => discs.slice(1));
}

function gamesOf(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const discs = new Map<string, Map<number, string>>();
  for (const name of names) {
    const disc = discOf(name);
    if (disc === undefined) continue;
    const ofGame = discs.get(disc.game) ?? new Map<number, string>();
    if (!ofGame.has(disc.number)) discs.set(disc.game, ofGame.set(disc.number, name));
  }
  const games = [...discs].filter(([, ofGame]) => ofGame.size > 1 && ofGame.has(1));
  return new Map(
    games.map(([game, ofGame]) => [game, [...ofGame].sort(([a], [b]) => a - b).map(([, name]) => name)]),
  );
}

/** The number of a disc, and its `game`: the name without the number, with its extension. */
function discOf(name: string): { readonly game: string; readonly number: number } | undefined {
  const mark = discMark.exec(name);
  if (mark === null) return undefined;
  const rest = `${name.slice(0, mark.index)}\0${name.slice(mark.index + mark[0].length)}`;
  return { game: rest.toLowerCase(), number: Number(mark[1]) };
}
