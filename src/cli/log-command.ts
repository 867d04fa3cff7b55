/** `tapdeck log`: the newest lines of the service's log, and with `--follow` each further one. */
import type { Calls, Client } from "../client/client.ts";
import { exitFailure } from "../core/errors.ts";
import { logPageMax, logWaitMsMax } from "../core/limits.ts";
import { printable } from "../core/text.ts";
import type { CommandLine } from "./arguments.ts";
import type { Terminal } from "./show.ts";
import { onInterrupt } from "./write-tags.ts";

const linesDefault = 50;

type Page = Calls["logs"]["result"];

/** Ctrl-C ends `--follow` with the exit code 0. */
export async function printLog(
  client: Client,
  { lines: count = linesDefault, level = "info", follow, json }: CommandLine,
  { print }: Terminal,
): Promise<void> {
  const show = (lines: Page["lines"]) => {
    for (const { time, level, area, text, id } of lines)
      print(
        json
          ? JSON.stringify({ id, time, level, area, text })
          : printable(`${new Date(time).toLocaleString("sv")} ${level.padEnd(5)} ${area}: ${text}`),
      );
  };
  const newest = await newestLines(client, level, count);
  show(newest.lines);
  if (!follow) return;
  const interrupted = Promise.withResolvers<undefined>();
  using _interruption = onInterrupt(() => interrupted.resolve(undefined));
  for (let { last } = newest; ; ) {
    const asked = client.call("logs", { level, after: last, limit: logPageMax, waitMs: logWaitMsMax });
    const page = await Promise.race([asked, interrupted.promise]).catch((error) => {
      throw exitFailure("the service has ended", error);
    });
    if (page === undefined) {
      // Ctrl-C closes the connection, and with it the request.
      asked.catch(() => {});
      return;
    }
    show(page.lines);
    last = page.last;
  }
}

/** Asks for pages until there are enough lines. */
async function newestLines(
  client: Client,
  level: NonNullable<CommandLine["level"]>,
  count: number,
): Promise<Pick<Page, "lines" | "last">> {
  let lines: Page["lines"] = [];
  let last: number | undefined;
  let cursor: string | undefined;
  do {
    const limit = Math.min(count - lines.length, logPageMax);
    const page = await client.call("logs", { level, limit, ...(cursor === undefined ? {} : { cursor }) });
    lines = [...page.lines, ...lines];
    last ??= page.last;
    cursor = page.pagination.nextCursor;
  } while (cursor !== undefined && lines.length < count);
  return { lines, last };
}
