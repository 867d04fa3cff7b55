/** Log lines on the way to stderr: gathered while a tap is under way and written when the loop is free again. */
export interface LogLines {
  readonly write: (line: string) => void;
  /** Writes what is left: before the process ends. */
  readonly flush: () => void;
}

export function createLogLines(output: { write(text: string): unknown }): LogLines {
  let waiting: string[] = [];
  const flush = () => {
    if (waiting.length === 0) return;
    const text = `${waiting.join("\n")}\n`;
    waiting = [];
    output.write(text);
  };
  return {
    write(line) {
      if (waiting.push(line) === 1) setTimeout(flush, 0);
    },
    flush,
  };
}
