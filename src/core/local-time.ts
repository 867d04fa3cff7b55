/** Days and times of day in a time zone, by the names and rules of the IANA time zone database in the runtime. */

/** The form of names and offsets. The runtime also accepts ISO 8601 texts that hold a zone, such as `T10:00[Europe/Berlin]`. */
const zoneForm = /^(?!T\d)[A-Z][\w+/-]*$|^[+-]\d\d(:?\d\d)?$/i;

/** True for a name of the database, and for an offset. The empty name is the machine's own zone. */
export function isTimeZone(name: string): boolean {
  if (name === "") return true;
  if (!zoneForm.test(name)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch {
    // RangeError: there is no such zone.
    return false;
  }
}

/** The date, `2031-05-08`. */
export function localDay(wallMs: number, zone: string): string {
  const { year, month, day } = partsOf(wallMs, zone);
  return [year, month, day].map((part) => String(part).padStart(2, "0")).join("-");
}

/** The time of day in minutes since midnight. */
export function minuteOfDay(wallMs: number, zone: string): number {
  const { hour, minute } = partsOf(wallMs, zone);
  return hour * 60 + minute;
}

/** Minutes since midnight for a time such as `20:30`; undefined for any other text. */
export function minuteOf(time: string): number | undefined {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  return hour === undefined ? undefined : Number(hour) * 60 + Number(minute);
}

/**
 * In instructions of a Cortex-A53, the first use of a zone takes 37 million, and a formatter with the same answers 123 million. A
 * start takes about 200 million.
 */
function partsOf(wallMs: number, zone: string) {
  if (zone !== "") return Temporal.Instant.fromEpochMilliseconds(wallMs).toZonedDateTimeISO(zone);
  const date = new Date(wallMs);
  return {
    year: date.getFullYear(),
    month: date.getMonth() + 1,
    day: date.getDate(),
    hour: date.getHours(),
    minute: date.getMinutes(),
  };
}
