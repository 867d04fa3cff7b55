/** The emulated PN532 as a separate process, so its work is not measured as work of the service. */
import { join } from "node:path";
import { lineReader } from "./lines.ts";

export interface EmulatorProcess {
  /** Runs one command of `test/programs/pn532-main.ts` and returns its answer's time in nanoseconds (monotonic). */
  say(command: string): Promise<bigint>;
  /** The monotonic time, in nanoseconds, at which the last byte of the last answer of the chip before `ns` left. */
  answerEndBefore(ns: bigint): bigint;
  stop(): Promise<void>;
}

export async function startEmulator(link: string): Promise<EmulatorProcess> {
  const program = join(import.meta.dir, "../programs/pn532-main.ts");
  const child = Bun.spawn([process.execPath, program, "--link", link, "--precise", "--real-time"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let answerEndsNs: bigint[] = [];
  const answers: string[] = [];
  let wake = () => {};
  void lineReader(child.stdout, (line) => {
    const [word, value] = line.split(" ");
    if (word === "answer-end") answerEndsNs = [...answerEndsNs.slice(-20), BigInt(value ?? "0")];
    else {
      answers.push(line);
      wake();
    }
  });
  const answer = async () => {
    while (answers.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return answers.shift() ?? "";
  };
  await answer(); // The path of the link, which exists now.
  const say = async (command: string) => {
    child.stdin.write(`${command}\n`);
    await child.stdin.flush();
    const said = await answer();
    const nanoseconds = /^ok (\d+)$/.exec(said)?.[1];
    if (nanoseconds === undefined) throw new Error(`emulator: "${command}" -> "${said}"`);
    return BigInt(nanoseconds);
  };
  await say("trace on");
  return {
    say,
    answerEndBefore: (ns) => answerEndsNs.findLast((end) => end < ns) ?? 0n,
    async stop() {
      child.stdin.write("quit\n");
      await child.stdin.flush();
      await child.exited;
    },
  };
}
