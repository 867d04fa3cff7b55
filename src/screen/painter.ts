/** Drawings, seen from the service: each is a short-lived process, and at most one runs at a time. */
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { screenDrawMsMax, screenRestoreMsMax } from "../core/console-limits.ts";
import { messageOf } from "../core/errors.ts";
import { gently, giveInput, jobEnvironment, ownCommand } from "../system/own-program.ts";
import type { DrawJob, DrawResult } from "./draw-job.ts";

/** The argument that makes the program draw instead of run the service. */
export const drawArgument = "draw-job";

export interface Painter {
  /** Runs a job, and resolves when it has ended. A fault is also a result. It is never called while another drawing runs. */
  run(job: DrawJob): Promise<DrawResult>;
  /** Ends the current drawing. Its result is then `late`. */
  cancel(): void;
}

interface PainterParts {
  readonly clock: Clock;
  /** The program and its arguments; absent means this program. */
  readonly command?: readonly string[];
}

export function createPainter({ clock, command }: PainterParts): Painter {
  const own = command ?? ownCommand(drawArgument, join(import.meta.dir, "../main.ts"));
  let endDrawing: (() => void) | undefined;
  return {
    async run(job) {
      // At its end the service waits for the job that restores the console's text, so that job keeps its normal priority.
      const [words, msMax] =
        job.kind === "text" ? [own, screenRestoreMsMax] : [[...gently, ...own], screenDrawMsMax];
      let isLate = false;
      try {
        const child = start(words);
        const end = () => {
          isLate = true;
          child.kill("SIGKILL");
        };
        if (job.kind === "draw") endDrawing = end;
        using _late = clock.after(msMax, end);
        await giveInput(child, JSON.stringify(job));
        const [line, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
        if (isLate) return { kind: "late" };
        return line === ""
          ? { kind: "failed", why: `its process ended with ${child.signalCode ?? code}` }
          : JSON.parse(line);
      } catch (error) {
        // The process could not be started.
        return { kind: "failed", why: messageOf(error) };
      } finally {
        endDrawing = undefined;
      }
    },
    cancel: () => endDrawing?.(),
  };
}

function start(command: readonly string[]) {
  return Bun.spawn([...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    env: jobEnvironment,
    // The process leads a session of its own, which may get the console as its terminal (drivers/io/kernel-controls.ts).
    detached: true,
  });
}
