/**
 * The real `serialport` 13 judges our link. One scenario, run by Node with its native binding and by Bun with our link, each
 * on a pty, must give the same transcript. Bun cannot run the real one: it aborts in `uv_poll_init`.
 */
import { expect, test } from "bun:test";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { ioctl, requests } from "../../drivers/io/libc.ts";
import { openPty, type Pty } from "../../drivers/io/termios.ts";
import { eventually } from "../helpers/processes.ts";
import { createSink } from "../helpers/serial-line.ts";

const scenario = join(import.meta.dir, "../programs/serial-scenario.mjs");

const childMsMax = 20_000; // A run takes under a second; the transcript of a run that hangs shows where.

type Line = { readonly note: string } | { readonly far: readonly (string | number)[] };

/** The far end of the ports, as the scenario commands it. */
function createFarEnd() {
  const opened: Pty[] = [];
  let line: Pty | undefined;
  // A second descriptor is opened before the port is locked, because only root can open it later.
  let looking: number | undefined;
  let heard = createSink();
  let used = 0;
  const take = async (length: number) => {
    used += length;
    return (await heard.atLeast(used)).subarray(used - length, used);
  };
  return {
    async ask([what, argument]: readonly (string | number)[]): Promise<string | number> {
      if (what === "newPath" || line === undefined) {
        await line?.close();
        if (looking !== undefined) closeSync(looking);
        line = openPty();
        looking = openSync(line.path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
        opened.push(line);
        [heard, used] = [createSink(), 0];
        line.onBytes(heard.take);
        return line.path;
      }
      if (what === "baudRate") return line.baudRate();
      if (what === "flags") return flagsOf(looking ?? -1);
      if (what === "heard") return (await take(Number(argument))).toString("hex");
      if (what === "heardHash")
        return new Bun.CryptoHasher("sha256").update(await take(Number(argument))).digest("hex");
      if (what === "write") {
        // This does not wait for the write, because the scenario reads only after the answer, and the kernel's buffer may
        // be too small for all bytes.
        void line.write(Buffer.from(String(argument), "hex")).catch(() => {});
        return "ok";
      }
      if (what === "unplug") {
        const { path } = line;
        await line.close();
        // Bun's copy of the descriptor may keep the line open for a moment.
        await eventually(() => !opens(path));
        return "ok";
      }
      throw new Error(`the scenario asks for ${what}`);
    },
    async close() {
      if (looking !== undefined) closeSync(looking);
      await Promise.all(opened.map((pty) => pty.close()));
    },
  };
}

function opens(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK));
    return true;
  } catch {
    return false; // EIO means that the other side is gone.
  }
}

/** c_cflag without its rate, and the flow control of c_iflag (termbits.h). */
function flagsOf(fd: number): string {
  const termios = new Uint8Array(44);
  ioctl(fd, requests.tcgets2, termios);
  const view = new DataView(termios.buffer);
  const control = view.getUint32(8, true) & ~0o10017;
  const flow = view.getUint32(0, true) & 0o16000;
  return `${(control >>> 0).toString(8)} ${flow.toString(8)}`;
}

async function transcriptOf(command: readonly string[]): Promise<readonly string[]> {
  const far = createFarEnd();
  const child = Bun.spawn([...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
    timeout: childMsMax,
    killSignal: "SIGKILL",
  });
  const notes: string[] = [];
  const take = async (line: Line) => {
    if ("note" in line) {
      notes.push(line.note);
      return;
    }
    const answer = await far.ask(line.far);
    child.stdin.write(`${JSON.stringify(answer)}\n`);
    await child.stdin.flush();
  };
  let rest = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) await take(JSON.parse(line));
  }
  notes.push(`exit ${await child.exited}`);
  await far.close();
  return notes;
}

test("our link and the real one have the same transcript of the same scenario", async () => {
  const [theirs, ours] = await Promise.all([
    transcriptOf(["node", scenario, "theirs"]),
    transcriptOf([process.execPath, scenario, "ours"]),
  ]);
  expect(ours).toEqual([...theirs]);
  expect(ours.at(-1)).toBe("exit 0");
  expect(ours.filter((line) => line.includes("other: "))).toEqual([]);
});
