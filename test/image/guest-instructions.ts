/** The number of instructions that a board has executed, which depends less on the load of the host than time does. */
import { join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

export interface Counter {
  /** The words for QEMU that load the plug-in (test/image/count.c). */
  readonly more: readonly string[];
  /** The number of instructions of all processors so far. */
  instructions(): Promise<number>;
}

/** Compiles the plug-in in `folder`. A counter is for one board. */
export async function makeCounter(folder: string): Promise<Counter> {
  const counts = join(folder, "counts");
  const plugin = join(folder, "count.so");
  await run([
    ...["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"],
    ...[join(root, "test/image/count.c"), "-o", plugin],
  ]);
  return {
    more: ["-plugin", `${plugin},counts=${counts}`],
    async instructions() {
      const each = new BigUint64Array(await Bun.file(counts).arrayBuffer());
      return Number(each.reduce((sum, count) => sum + count, 0n));
    },
  };
}
