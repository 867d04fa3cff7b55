/** The maintainer's shell of a guest, over QEMU's end of its serial line. */
import { patienceMs, until } from "./until.ts";

export interface Shell {
  /**
   * Resolves with the output of the command, on both streams. Rejects after an exit code other than 0, or after seven minutes.
   */
  run(command: string): Promise<string>;
  close(): void;
}

export async function openShell(path: string): Promise<Shell> {
  let text = "";
  const decoder = new TextDecoder();
  const socket = await Bun.connect({
    unix: path,
    socket: {
      data(_socket, bytes) {
        text += decoder.decode(bytes, { stream: true });
      },
    },
  });
  let count = 0;
  const run = async (command: string) => {
    if (command.includes("\n")) throw new Error("a command is one line");
    const mark = `mark-${++count}-${Math.floor(performance.now())}`;
    const from = text.length;
    // The mark is written in two halves, so an echo of this line is not taken for the end.
    socket.write(`( ${command} ) 2>&1; printf '\\n%s%s %d\\n' ${mark.slice(0, 5)} ${mark.slice(5)} $?\n`);
    const ends = new RegExp(`\\n${mark} (\\d+)\\r?\\n`);
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const said = text.slice(from);
      const end = ends.exec(said);
      if (end !== null) {
        const plain = said.slice(0, end.index).trim();
        if (end[1] !== "0") throw new Error(`in the guest, ${command} ended with ${end[1]}: ${plain}`);
        return plain;
      }
      if (performance.now() > deadline) throw new Error(`in the guest, ${command} did not end: ${said}`);
      await Bun.sleep(10);
    }
  };
  // The shell listens as soon as it answers. Unlike a person's shell, it loses input from before that time.
  await until("the guest's shell", async () => {
    socket.write("echo\n");
    await Bun.sleep(100);
    return text.length > 0;
  });
  // A person gets a prompt, a line editor and colors of `ls` in this shell, and a program needs none of these.
  socket.write(
    `stty raw -echo; exec env LS_COLORS=none sh -c 'while IFS= read -r line; do eval "$line"; done'\n`,
  );
  // On a busy machine the service may need longer for an answer than the command waits by itself.
  socket.write(
    `tapdeck() { if [ "$1" = call ]; then command tapdeck --timeout=60000 "$@"; else command tapdeck "$@"; fi; }\n`,
  );
  await run("true");
  return { run, close: () => socket.end() };
}
