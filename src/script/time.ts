/** Times as scripts write them. */

/** Milliseconds of `1500`, `1m30s`, `250ms` (`h`, `m`, `s`, `ms`, in this order); undefined where it is no time. */
export function timeMs(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const parts = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/i.exec(text);
  if (text === "" || parts === null) return undefined;
  const [hours = 0, minutes = 0, seconds = 0, rest = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + rest;
}
