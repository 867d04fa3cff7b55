/** Circles of imports: files that reach themselves again by imports of values or of types. */

/** An import between two files, by their paths. */
interface Arrow {
  readonly from: string;
  readonly to: string;
}

/**
 * The groups of files that reach one another, with the arrows within each group. They are the strongly connected
 * components of more than one file, by Tarjan's algorithm. A file that imports itself is a group of its own.
 */
export function circlesOf(arrows: readonly Arrow[]): readonly (readonly Arrow[])[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of arrows) targets.set(from, [...(targets.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const path: string[] = [];
  const groups: ReadonlySet<string>[] = [];
  const visit = (file: string): number => {
    const place = order.size;
    order.set(file, place);
    lowest.set(file, place);
    path.push(file);
    for (const next of targets.get(file) ?? []) {
      const reached = order.has(next) ? (path.includes(next) ? order.get(next) : undefined) : visit(next);
      lowest.set(file, Math.min(lowest.get(file) ?? place, reached ?? place));
    }
    const low = lowest.get(file) ?? place;
    if (low === place) groups.push(new Set(path.splice(path.indexOf(file))));
    return low;
  };
  for (const file of targets.keys()) if (!order.has(file)) visit(file);
  return groups
    .map((group) => arrows.filter(({ from, to }) => group.has(from) && group.has(to)))
    .filter((within) => within.length > 0);
}
