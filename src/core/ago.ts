/** How long ago a time was, in words: `just now`, `5 minutes ago`, `3 days ago`. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `time` is RFC 3339. A time ahead of `nowMs`, from before a clock was set back, is `just now`. */
export function ago(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time);
  if (ms < minuteMs) return "just now";
  if (ms < hourMs) return inWords(ms / minuteMs, "minute");
  if (ms < dayMs) return inWords(ms / hourMs, "hour");
  return inWords(ms / dayMs, "day");
}

function inWords(count: number, unit: string): string {
  const whole = Math.floor(count);
  return `${whole} ${unit}${whole === 1 ? "" : "s"} ago`;
}
