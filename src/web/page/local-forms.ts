/** Times, spans and sizes in the form of the page's locale. */
import { inLocale, locale } from "./page-texts.ts";

const clocks = inLocale((tag) => new Intl.DateTimeFormat(tag, { timeStyle: "short" }));
const dates = inLocale((tag) => new Intl.DateTimeFormat(tag, { dateStyle: "short", timeStyle: "short" }));

/** `14:05`, of RFC 3339. */
export function clockOf(time: string): string {
  return clocks().format(Date.parse(time));
}

/** The date and the time in short form. */
export function dateOf(time: string): string {
  return dates().format(Date.parse(time));
}

const days = inLocale((tag) => new Intl.RelativeTimeFormat(tag, { numeric: "auto" }));

/** `today, 14:05`; before yesterday the date and the time. */
export function whenOf(time: string, now = new Date()): string {
  const day = new Date(time).setHours(0, 0, 0, 0);
  const passed = Math.round((new Date(now).setHours(0, 0, 0, 0) - day) / dayMs);
  return passed === 0 || passed === 1 ? `${days().format(-passed, "day")}, ${clockOf(time)}` : dateOf(time);
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** `this minute`, `5 minutes ago`, `yesterday`. */
export function sinceText(time: string): string {
  const ms = Math.max(0, Date.now() - Date.parse(time));
  const words = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  if (ms < hourMs) return words.format(-Math.floor(ms / minuteMs), "minute");
  if (ms < dayMs) return words.format(-Math.floor(ms / hourMs), "hour");
  return words.format(-Math.floor(ms / dayMs), "day");
}

const units = ["kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** `12.5 GB`. */
export function bytesOf(bytes: number): string {
  const power = Math.min(Math.max(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 1), units.length);
  const form = { style: "unit", unit: units[power - 1], maximumFractionDigits: 1 } as const;
  return (bytes / 1000 ** power).toLocaleString(locale, form);
}

/** `3 days`: a time in seconds, in its largest unit. */
export function spanOf(seconds: number): string {
  const ms = seconds * 1000;
  const [unit, size] =
    ms < hourMs
      ? (["minute", minuteMs] as const)
      : ms < dayMs
        ? (["hour", hourMs] as const)
        : (["day", dayMs] as const);
  return Math.floor(ms / size).toLocaleString(locale, { style: "unit", unit, unitDisplay: "long" });
}
