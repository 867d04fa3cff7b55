/**
 * A file as a reader, for scripts and other programs: its content is the card. `file:/run/deck/card`.
 *
 *   content                         meaning
 *   missing, or empty               nothing lies there
 *   lines `uid=...`, `text=...`     a card with these; one of them is enough
 *   any other text                  a card with this text, without the white space around it
 *
 * The kernel reports changes in the file's folder; there is no polling. A program that writes the file in several
 * steps may take up to `settleMs` between them; moving a finished file into place avoids this.
 *
 * Quirks:
 * - A link is no card: it may lead to any file that the service can read. Name the file itself.
 * - Folders on network drives do not report changes by other machines.
 */
import { constants, watch } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute } from "node:path";
import { messageOf, ServiceError } from "../src/core/errors.ts";
import { readerFileBytesMax } from "../src/core/limits.ts";
import type { Driver, DriverContext, ReaderSession, Report } from "../src/readers/driver.ts";
import { createGone } from "./one-card-presence.ts";
import { parseCardFile } from "./protocol/card-text.ts";

const settleMs = 30; // Shells open a file, and so empty it, some milliseconds before they write into it.

export const file = {
  id: "file",
  capabilities: ["read", "removable"],
  async open(path, context, signal) {
    if (!isAbsolute(path)) throw refused(path, "name it with its whole path, as file:/run/card");
    signal.throwIfAborted();
    await insistOnFolder(path);
    if ((await read(path)).kind === "error") throw refused(path, "it is no file that can be read");
    return createSession(path, context);
  },
} as const satisfies Driver;

function createSession(path: string, context: DriverContext): ReaderSession {
  const { gone, tell } = createGone();
  const closing = new AbortController();
  return {
    info: "a file",
    async watch(report, signal) {
      const ending = AbortSignal.any([signal, closing.signal]);
      const changes = watchFolder(path, context, tell);
      try {
        await Promise.race([gone, follow(path, { log: context.log, changes, report }, ending)]);
      } finally {
        changes.close();
      }
    },
    close: async () => closing.abort(new Error("the reader was closed")),
  };
}

interface Following extends Pick<DriverContext, "log"> {
  readonly changes: Changes;
  readonly report: Report;
}

/** Reads, reports, and waits for the next change, until `ending` aborts. Throws if the folder is gone. */
async function follow(path: string, { log, changes, report }: Following, ending: AbortSignal): Promise<void> {
  let said = "";
  while (!ending.aborted) {
    const found = await read(path);
    if (found.kind === "missing") await insistOnFolder(path);
    const why = found.kind === "error" ? found.why : "";
    if (why !== said && why !== "") log.warn("readers", "a file counts as no card", { path, why });
    said = why;
    if (ending.aborted) return;
    report(found.kind === "card" ? [found.sighting] : []);
    await changes.next(ending);
  }
}

interface Changes {
  /** Resolves `settleMs` after the first change that no earlier call reported, or as soon as `ending` aborts. */
  next(ending: AbortSignal): Promise<void>;
  close(): void;
}

function watchFolder(path: string, { clock }: DriverContext, failed: (reason: Error) => void): Changes {
  let settling: Disposable | undefined;
  let change = Promise.withResolvers<void>();
  const noticed = () => {
    settling ??= clock.after(settleMs, () => {
      settling = undefined;
      change.resolve();
    });
  };
  const folder = dirname(path);
  const name = basename(path);
  const watcher = watchOrRefuse(path, (changed) => {
    // A removed folder is reported with its own name, or without a name.
    if (changed === null || changed === name || changed === basename(folder)) noticed();
  });
  watcher.on("error", (error) => failed(refused(path, messageOf(error))));
  return {
    async next(ending) {
      const wake = () => change.resolve();
      ending.addEventListener("abort", wake, { once: true });
      if (!ending.aborted) await change.promise;
      ending.removeEventListener("abort", wake);
      change = Promise.withResolvers();
    },
    close() {
      settling?.[Symbol.dispose]();
      watcher.close();
    },
  };
}

function watchOrRefuse(path: string, noticed: (name: string | null) => void) {
  try {
    return watch(dirname(path), (_event, name) => noticed(name));
  } catch (error) {
    throw refused(path, `its folder cannot be watched: ${messageOf(error)}`);
  }
}

type Found =
  | ReturnType<typeof parseCardFile>
  | { readonly kind: "missing" }
  | { readonly kind: "error"; readonly why: string };

async function read(path: string): Promise<Found> {
  try {
    // Opening a pipe would block. A link, perhaps made by another user, may lead to any file that the service can read.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (!(await handle.stat()).isFile()) return { kind: "error", why: "it is no plain file" };
    const buffer = new Uint8Array(readerFileBytesMax + 1);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    if (bytesRead > readerFileBytesMax)
      return { kind: "error", why: `it has more than ${readerFileBytesMax} bytes` };
    return parseCardFile(buffer.subarray(0, bytesRead));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return { kind: "missing" };
    return { kind: "error", why: code === "ELOOP" ? "it is a link: name the file itself" : messageOf(error) };
  }
}

async function insistOnFolder(path: string): Promise<void> {
  const isFolder = await stat(dirname(path)).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw refused(path, "there is no such folder: make it first");
}

function refused(path: string, why: string): ServiceError {
  return new ServiceError("reader-gone", `${path || "file:"}: ${why}`);
}
