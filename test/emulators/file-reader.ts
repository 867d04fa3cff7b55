/** A file in a folder of its own, written by scripts: the device of the file reader. */
import { mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmulatedReader } from "./index.ts";

// Bun opens one descriptor for all watches at the first watch, and keeps it.
watch(tmpdir(), () => {}).close();

export function fileReader(): EmulatedReader {
  const folder = mkdtempSync(join(tmpdir(), "tapdeck-file-"));
  const path = join(folder, "card");
  return {
    path,
    expected: ({ uid, text }) => ({ type: "Unknown", uid, text, data: "" }),
    lay: (_session, { uid, text }) => writeFileSync(path, `uid=${uid}\ntext=${text}\n`),
    lift: () => rmSync(path, { force: true }),
    line: {
      kind: "none",
      why: "it is read in one piece; test/unit/drivers/file.test.ts takes its folder away",
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
