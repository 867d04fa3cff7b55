/** The trace of Chromium while something runs, by the protocol of its developer tools. */
import type { CDPSession } from "playwright-core";

export interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly ts: number;
  readonly args?: { readonly name?: string };
}

interface Trace {
  /** The events of the pages' main threads. */
  readonly own: readonly TraceEvent[];
  /** The frames that the compositor drew, also those without the latest changes of the main thread; 0 if uncounted. */
  readonly drawnFrames: number;
}

/** `countsFrames` costs the main thread a third of its frames. */
export async function tracedWhile(
  session: CDPSession,
  run: () => Promise<unknown>,
  countsFrames = false,
): Promise<Trace> {
  const events: TraceEvent[] = [];
  const take = ({ value }: { value: readonly object[] }) =>
    void events.push(...value.filter((one): one is TraceEvent => "ts" in one));
  session.on("Tracing.dataCollected", take);
  const includedCategories = [
    ...["devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel", "v8"],
    ...(countsFrames ? ["devtools.timeline.frame", "disabled-by-default-devtools.timeline.frame"] : []),
  ];
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories } });
  await run();
  const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await complete;
  session.off("Tracing.dataCollected", take);
  const mains = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return {
    own: events.filter(({ pid, tid }) => mains.has(`${pid} ${tid}`)),
    drawnFrames: events.filter(({ name }) => name === "DrawFrame").length,
  };
}

/** The milliseconds of its thread, so other programs of the machine do not count. */
export const msOf = ({ tdur = 0 }: TraceEvent) => tdur / 1000;

/** The tasks, the longest first. */
export function tasksIn(own: readonly TraceEvent[]): readonly TraceEvent[] {
  const tasks = own.filter(({ name, dur }) => name === "RunTask" && dur !== undefined);
  return tasks.sort((a, b) => msOf(b) - msOf(a));
}

/** The events of at least `ms` within a task, the longest first. */
export function partsOf(task: TraceEvent, own: readonly TraceEvent[], ms: number): readonly string[] {
  const { ts, dur = 0, tid, pid } = task;
  return own
    .filter(
      (one) => one.pid === pid && one.tid === tid && one.ts >= ts && one.ts + (one.dur ?? 0) <= ts + dur,
    )
    .filter((one) => msOf(one) >= ms && !/RunTask/.test(one.name))
    .sort((a, b) => msOf(b) - msOf(a))
    .slice(0, 8)
    .map((one) => `${one.name} ${Math.round(msOf(one))}`);
}
