/** The number of random inputs for a parser: `usual`, or the number that `make fuzz` sets. */
export function fuzzRounds(usual: number): number {
  const asked = process.env.FUZZ_ROUNDS;
  if (asked === undefined || asked === "") return usual;
  const rounds = Number(asked);
  if (!Number.isSafeInteger(rounds) || rounds < 1)
    throw new Error(`FUZZ_ROUNDS is "${asked}": give a whole number of rounds, such as 1000000`);
  return rounds;
}
