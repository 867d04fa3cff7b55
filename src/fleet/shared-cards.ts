/**
 * Shared cards on a device: keeps the last good bundle in the data folder, and looks for a newer one at `cards.url`. A fault
 * of the server or of its bundle changes nothing. Loaded only if that setting is set.
 */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Table } from "../config/checks.ts";
import { saveFile } from "../config/save.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { codeOf, messageOf } from "../core/errors.ts";
import { faultOf, faultSentence } from "../core/faults.ts";
import { fileFault } from "../core/file-faults.ts";
import { cardsBundleBytesMax, cardsFetchMsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { requested } from "../system/download.ts";
import { besideSystem, checkTlsFiles } from "../system/tls-files.ts";
import {
  type CardsBundle,
  checkBundle,
  mappingFilesIn,
  openBundle,
  type SharedFile,
  settingsIn,
} from "./shared-cards-bundle.ts";

interface SharedCardsParts {
  /** The settings, as they were at the start. */
  readonly source: { readonly url: string; readonly key: string; readonly caFile: string };
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a number from 0 to 1. */
  readonly random?: () => number;
}

export type SharedCards = Awaited<ReturnType<typeof openSharedCards>>;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
// A device without a bundle needs one at once. Other devices may all have started at the same moment.
const firstMsMax = { without: 2000, withOne: minuteMs };
const kept = "shared-cards.bundle";
const keptTag = "shared-cards.etag";

/** Reads the kept bundle, so the bundle is in use without a network. Starts no request. */
export async function openSharedCards({
  source,
  dataFolder,
  clock,
  log,
  random = Math.random,
}: SharedCardsParts) {
  const { url, key } = source;
  const path = join(dataFolder, kept);
  const caPath = source.caFile === "" ? "" : resolve(dataFolder, source.caFile);
  const ending = new AbortController();
  let [text, bundle] = await openKept(path, key, log);
  let timer: Disposable | undefined;
  let checkedMs: number | undefined;
  /** The reason why the bundle of the server is not in use. */
  let fault = key === "" ? faultOf("cards-key-missing", {}) : undefined;
  /** The reason why there was no answer. */
  let absence = "";
  let failures = 0;
  let use: () => Promise<void> = async () => {};

  /** Resolves if the server has nothing newer, or a newer bundle is in use. */
  const look = async () => {
    const found = await fetchBundle(
      url,
      caPath,
      join(dataFolder, keptTag),
      bundle !== undefined,
      ending.signal,
    );
    if (found !== undefined && found.text !== text) {
      const fresh = openBundle(found.text, key);
      refuseOlder(fresh, bundle);
      await checkBundle(fresh);
      await saveFile(path, found.text, async () => true);
      text = found.text;
      bundle = fresh;
      await use();
      log.info("cards", "a shared bundle is in use", { serial: fresh.serial });
    }
    // The tag is stored only now, so after a power cut the server sends the bundle again.
    if (found !== undefined)
      await saveFile(join(dataFolder, keptTag), `${url}\n${found.tag}\n`, async () => true);
    checkedMs = clock.now();
    fault = undefined;
    absence = "";
  };
  const lookAgain = async () => {
    try {
      await look();
      failures = 0;
    } catch (error) {
      if (ending.signal.aborted) return;
      failures += 1;
      const why = messageOf(error);
      if (error instanceof NoAnswer) absence = why;
      else {
        fault = faultOf("cards-refused", { subject: url, why });
        checkedMs = clock.now();
      }
      log.warn("cards", "the bundle of the server is not in use", { why });
    }
    // The pause is a minute after the first failure, and twice as long after each further one.
    const backoffMs = failures === 0 ? hourMs : Math.min(hourMs, minuteMs * 2 ** (failures - 1));
    wait(backoffMs * (0.8 + 0.4 * random()));
  };
  const wait = (ms: number) => {
    if (!ending.signal.aborted) timer = clock.after(ms, () => void lookAgain());
  };

  return {
    files: (): readonly SharedFile[] => (bundle === undefined ? [] : mappingFilesIn(bundle)),
    settings: (): Table => (bundle === undefined ? {} : settingsIn(bundle)),
    /** The reason why the bundle of the server is not in use. A server that does not answer is no fault. */
    faults: () => (fault === undefined ? [] : [fault]),
    status: () => ({
      url,
      ...(bundle === undefined ? {} : { serial: bundle.serial, files: Object.keys(bundle.files).sort() }),
      ...(checkedMs === undefined ? {} : { checked: rfc3339(checkedMs) }),
      ...(fault === undefined ? (absence === "" ? {} : { fault: absence }) : { fault: faultSentence(fault) }),
    }),
    /** Looks at the server from now on. `inUse` is called after each change, before the next look. */
    follow(inUse: () => Promise<void>): void {
      use = inUse;
      if (key !== "") wait(random() * (bundle === undefined ? firstMsMax.without : firstMsMax.withOne));
    },
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      ending.abort();
    },
  };
}

/**
 * Returns nothing if there is no bundle, if another key signed it, or if a version of Tapdeck with other settings stored
 * it.
 */
async function openKept(path: string, key: string, log: Log): Promise<[string?, CardsBundle?]> {
  try {
    const text = await readFile(path, "utf8");
    const bundle = openBundle(text, key);
    settingsIn(bundle);
    return [text, bundle];
  } catch (error) {
    if (codeOf(error) !== "ENOENT")
      log.warn("cards", "the kept bundle is not used", { why: messageOf(error) });
    return [];
  }
}

function refuseOlder(fresh: CardsBundle, before: CardsBundle | undefined): void {
  if (before === undefined || fresh.serial > before.serial) return;
  throw new Error(`its serial number is ${fresh.serial}, and that of the bundle in use is ${before.serial}`);
}

/** The server gave no bundle. */
class NoAnswer extends Error {}

/** Undefined if the bundle has not changed. Rejects with `NoAnswer`, or with a sentence about the content. */
async function fetchBundle(
  url: string,
  caPath: string,
  tagPath: string,
  hasBundle: boolean,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly tag: string } | undefined> {
  const [knownUrl, tag = ""] = (await readFile(tagPath, "utf8").catch(() => "")).split("\n");
  const isKnown = hasBundle && knownUrl === url && tag !== "";
  const ca = caPath === "" ? undefined : await authorityIn(caPath);
  try {
    const response = await requested(
      // The bundle is also signed.
      { url, tls: ca === undefined ? {} : besideSystem({ ca }) },
      isKnown ? { "if-none-match": tag } : {},
      AbortSignal.any([signal, AbortSignal.timeout(cardsFetchMsMax)]),
    );
    if (response.status === 304 && isKnown) return undefined;
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const bytes = await bytesOf(response);
    const stated = response.headers.get("content-length");
    if (stated !== null && !response.headers.has("content-encoding") && Number(stated) !== bytes.length)
      throw new Error("the download was cut off");
    return { text: new TextDecoder().decode(bytes), tag: headerLine(response.headers.get("etag") ?? "") };
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    throw new NoAnswer(`${url}: ${messageOf(error)}`, { cause: error });
  }
}

async function authorityIn(path: string): Promise<string> {
  const ca = await readFile(path, "utf8").catch((error: unknown) => {
    throw new Error(`cards.ca_file: cannot read ${path}: ${fileFault(error)}`, { cause: error });
  });
  checkTlsFiles({ ca }, { ca: "cards.ca_file", cert: "", key: "" });
  return ca;
}

class TooLarge extends Error {}

async function bytesOf({ body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > cardsBundleBytesMax) throw new TooLarge(`it has more than ${cardsBundleBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

// A tag has no line ends (RFC 9110, 8.8.3), and a long one is not worth keeping.
function headerLine(tag: string): string {
  return tag.length > 256 ? "" : tag;
}
