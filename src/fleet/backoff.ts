/** Pauses between tries. They vary, so the devices of a fleet do not ask together. */

/**
 * The pause after this many failures in a row, at least one: each pause is twice the last one, and varies by a fifth.
 * `random` is 0 to 1.
 */
export function backoffMs(
  failures: number,
  { first, longest }: { readonly first: number; readonly longest: number },
  random: () => number,
): number {
  return Math.min(longest, first * 2 ** Math.max(0, failures - 1)) * (0.8 + 0.4 * random());
}
