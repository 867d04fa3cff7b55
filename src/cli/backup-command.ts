/** `tapdeck backup` and `tapdeck restore`: over the service that runs, or on the files of its data folder without one. */
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { mayReplace } from "../backup/backup-file.ts";
import type { BackupPlaces } from "../backup/make-backup.ts";
import { backupOffline, restoreOffline } from "../backup/offline.ts";
import { checkPassphrase } from "../backup/stage-restore.ts";
import { type Client, connect } from "../client/client.ts";
import { asOwnerOf } from "../core/as-owner.ts";
import { backupPassphraseCharsMax } from "../core/console-limits.ts";
import type { BackupContent } from "../core/device-shapes.ts";
import { exitCodes, exitFailure, ifThere, ServiceError, StartError } from "../core/errors.ts";
import { fileFault, isFileFault, pathAndFault } from "../core/file-faults.ts";
import { ago, printable } from "../core/text.ts";
import { imageData } from "../update/machine.ts";
import type { CommandLine } from "./arguments.ts";
import { inColumns, type Terminal } from "./show.ts";

/** The way to a running service: its client, and the address of its HTTP. */
export interface ServiceDoor {
  readonly client: Client;
  /** The address of the API for a WebSocket. */
  readonly address: string;
  readonly http: { readonly url: string; readonly unix?: string };
}

interface BackupParts {
  readonly screen: Terminal;
  readonly places: BackupPlaces;
  /** The way to the service; undefined if no service answers. */
  readonly door: ServiceDoor | undefined;
}

export async function runBackup(
  { words: [file = ""], passphraseFile, json, force }: CommandLine,
  { screen, places, door }: BackupParts,
) {
  const folder = dirname(file);
  await asOwnerOf(folder, () => checkTarget(file, force));
  const question = "Passphrase for the paired phones and keys (empty: they are left out): ";
  const passphrase = await passphraseOf(passphraseFile, json ? undefined : question, "Once more: ");
  const fresh = `${file}.${process.pid}.new`;
  try {
    const made = await asExit(async () => {
      await using written = await asOwnerOf(folder, () => open(fresh, "wx", 0o600));
      return door === undefined
        ? await backupOffline(places, { file: written, passphrase })
        : await download(door, written, passphrase);
    });
    await asOwnerOf(folder, () => rename(fresh, file));
    for (const one of made.leftOut) screen.prompt(printable(`left out: ${one}`));
    if (json) screen.print(JSON.stringify({ file, ...made }));
    else
      screen.print(
        printable(
          `wrote ${file}, ${Math.ceil(made.bytes / 1024)} KiB, ${passphrase === undefined ? "without" : "with"} phones and keys`,
        ),
      );
  } finally {
    await asOwnerOf(folder, () => rm(fresh, { force: true }));
  }
}

/**
 * Throws `StartError` unless a backup may be written there. It runs before the passphrase is asked for, and creates no file.
 */
async function checkTarget(file: string, force: boolean): Promise<void> {
  const folder = dirname(file);
  const isFolder = await ifThere(stat(folder)).then(
    (found) => found?.isDirectory(),
    () => false,
  );
  const refuse = (why: string) => new StartError(exitCodes.cannotCreate, why);
  if (isFolder === undefined)
    throw refuse(`there is no folder ${folder}: make it first, or name another file`);
  if (!isFolder) throw refuse(`${folder} is no folder that can be read: name another file`);
  const found = await ifThere(stat(file));
  if (found?.isDirectory()) throw refuse(`${file} is a folder: name a file in it`);
  if (found === undefined) return;
  if (!(await mayReplace(file))) throw exitFailure(`${file} exists and is no backup: name another file`);
  if (found.size > 0 && !force) throw refuse(`${file}: there is a backup already: --force replaces it`);
}

async function download({ client, http }: ServiceDoor, written: FileHandle, passphrase: string | undefined) {
  const made = await client.call("backup", passphrase === undefined ? {} : { passphrase });
  const response = await fetch(http.url, { ...(http.unix === undefined ? {} : { unix: http.unix }) });
  if (!response.ok || response.body === null) throw exitFailure((await response.text()).trim());
  for await (const chunk of response.body) await written.write(chunk);
  await written.sync();
  if ((await written.stat()).size !== made.bytes) throw exitFailure("the backup was cut short: try again");
  return made;
}

/** Keeps a backup on the device, by the service or, if none runs, without it; returns its name. */
export async function keepBeforeUpdate(door: ServiceDoor | undefined): Promise<string> {
  if (door === undefined)
    return (await asExit(() => backupOffline(imageData, { before: "update" }))).kept ?? "";
  try {
    return (await door.client.call("backup", { keep: true })).kept ?? "";
  } finally {
    door.client.close();
  }
}

export async function runRestore(asked: CommandLine, { screen, places, door }: BackupParts) {
  const {
    words: [file = ""],
    passphraseFile,
    json,
    check,
  } = asked;
  const content = await asExit(() => preview(file, places, door));
  if (check) {
    const passphrase = await passphraseOf(passphraseFile);
    // The check above, by the service or on the files, does not open the encrypted part.
    if (passphrase !== undefined)
      await asExit(() => asOwnerOf(dirname(file), () => checkPassphrase(file, passphrase)));
    return screen.print(json ? JSON.stringify(content) : contentText(content));
  }
  if (!json) screen.print(contentText(content));
  const question =
    json || content.clients === "none"
      ? undefined
      : "Passphrase of the backup (empty: the phones and keys of this device stay): ";
  const passphrase = await passphraseOf(passphraseFile, question);
  const restored = await asExit(() =>
    door === undefined
      ? restoreOffline(file, places, { passphrase, isTrial: false })
      : door.client.call("restore", {
          sha256: content.sha256,
          ...(passphrase === undefined ? {} : { passphrase }),
        }),
  );
  if (door !== undefined) await untilBack(door);
  if (json) screen.print(JSON.stringify(restored));
  else
    screen.print(
      printable(`restored; the state before is kept as ${restored.kept ?? ""} in ${restored.folder ?? ""}`),
    );
}

async function preview(
  file: string,
  places: BackupPlaces,
  door: ServiceDoor | undefined,
): Promise<BackupContent> {
  if (door === undefined) return restoreOffline(file, places, { passphrase: undefined, isTrial: true });
  const { http } = door;
  const body = Bun.file(file);
  if (!(await body.exists())) throw exitFailure(`there is no file ${file}`);
  const response = await fetch(http.url, {
    method: "PUT",
    body,
    ...(http.unix === undefined ? {} : { unix: http.unix }),
  });
  const text = await response.text();
  if (!response.ok) throw exitFailure(printable(text.trim()));
  return JSON.parse(text);
}

const startMsMax = 60_000;

/** Waits until the service that restores has ended, and another one answers. */
async function untilBack({ client, address }: ServiceDoor): Promise<void> {
  const deadline = Date.now() + startMsMax;
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, startMsMax);
  await Promise.race([client.closed, late.promise]);
  clearTimeout(timer);
  while (Date.now() < deadline) {
    const back = await connect(address).catch(() => undefined);
    if (back !== undefined) return back.close();
    await Bun.sleep(100);
  }
  throw exitFailure(
    "the restore is decided, and the service does not answer yet: its next start completes it",
  );
}

function contentText({ made, version, counts, clients, changes, warnings }: BackupContent): string {
  const sealed = { none: "none in it", locked: "in it, behind its passphrase" };
  const rows = [
    ["made", `${ago(made, Date.now())}, by Tapdeck ${version}`],
    ["mappings", `${counts.mappings}, and ${counts.mappingFiles} files`],
    ["launchers", `${counts.launchers}`],
    ["history", `${counts.history} taps, ${counts.plays} plays, ${counts.positions} positions`],
    ["phones", typeof clients === "number" ? `${clients}` : sealed[clients]],
    ["changes", changes.length === 0 ? "no setting" : changes.join(", ")],
    ...warnings.map((warning) => ["warning", warning]),
  ];
  return inColumns(rows.map((row) => row.map(printable))).join("\n");
}

/** The passphrase of a file, or of a person at a terminal, who may leave it out; undefined if there is none. */
async function passphraseOf(
  file: string | undefined,
  question?: string,
  again?: string,
): Promise<string | undefined> {
  if (file !== undefined) {
    const text = await Bun.file(file)
      .slice(0, 8 * backupPassphraseCharsMax)
      .text()
      .catch((error: unknown) => {
        throw exitFailure(`${file}: ${fileFault(error)}`, error);
      });
    const [line = ""] = text.split(/\r?\n/);
    if (line === "") throw exitFailure(`${file}: its first line is empty, and should be the passphrase`);
    return line;
  }
  if (question === undefined || !process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const typed = await ask(question);
  if (typed === "") return undefined;
  if (again !== undefined && (await ask(again)) !== typed)
    throw exitFailure("these are two different passphrases: try again");
  return typed;
}

/** Asks at the terminal, and shows nothing of what is typed. */
async function ask(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // From here on the terminal echoes nothing.
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  try {
    const interrupted = new Promise<never>((_, reject) =>
      lines.once("SIGINT", () => reject(exitFailure("cancelled"))),
    );
    return await Promise.race([lines.question(""), interrupted]);
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}

async function asExit<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ServiceError) throw exitFailure(printable(error.message), error);
    throw isFileFault(error)
      ? new StartError(exitCodes.cannotCreate, printable(pathAndFault(error)), error)
      : error;
  }
}
