/** The time of a start, from outside. */

export interface StartTime {
  /** Milliseconds from the start of the program to its first answer at `port`. */
  readonly tookMs: number;
  /** Processor time of all its threads until then. */
  readonly cpuMs: number;
}

export async function timeStart(command: readonly string[], port: number): Promise<StartTime> {
  const startedMs = performance.now();
  const child = Bun.spawn([...command], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "ignore"],
  });
  // The service does not listen yet.
  while ((await fetch(`http://127.0.0.1:${port}/ping`).catch(() => undefined)) === undefined)
    await Bun.sleep(1);
  const tookMs = performance.now() - startedMs;
  child.kill("SIGKILL");
  await child.exited;
  return { tookMs, cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000 };
}
