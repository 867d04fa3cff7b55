/**
 * Uploads files to a device. It also runs in browsers. The bytes are sealed, so they may go over plain HTTP. Only a part
 * of the file is in memory at a time. After a lost connection or a restart of either side, the same call continues.
 */
import type { Calls } from "../api/methods/index.ts";
import { fromHex, toHex } from "../core/hex.ts";
import { uploadChunkBytesMax } from "../core/upload-limits.ts";
import { loadPrimitives } from "../secure/primitives.ts";
import { sealUpload } from "../secure/upload-frames.ts";
import { type Client, RpcError } from "./client.ts";

export interface UploadSource {
  /** The id of a system, or another of its names. */
  readonly system: string;
  /** The path below the folder of the system. */
  readonly path: string;
  /** A `File` of a browser, or `Bun.file(path)`. */
  readonly file: Blob;
  readonly replace?: boolean;
}

export interface UploadOptions {
  /** `http://host:port`. In a page of the device, the default is the address of the page. */
  readonly origin?: string;
  /** Called with the bytes of the file that are on the device. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

export type Started = Calls["uploads.start"]["result"]["uploads"][number];
type Begun = Extract<Started, { readonly id: string }>;

/** The device refuses this file. */
export class UploadRefused extends Error {
  override readonly name = "UploadRefused";
  /** True if a file of this name exists already. */
  readonly isThere: boolean;
  /** The code of the refusal, if it has one, as `data` of an error. */
  readonly data: unknown;

  constructor(message: string, isThere: boolean, refusal?: string) {
    super(message);
    this.isThere = isThere;
    this.data = { refusal };
  }
}

/** Calls methods of the device. A call that fails without an answer is made again. */
type Caller = Pick<Client, "call">;

const failuresMax = 3; // Attempts for one file that arrives damaged, or that the disk refuses.
const retryMs = 1000;
const putMsMax = 30_000; // A lost network does not always end a connection.
// Hashing this many bytes takes some milliseconds, so a page stays responsive.
const hashBytes = 128 * 1024;
const busy = -32000;

/**
 * Sends the file, continues where an earlier attempt ended, and resolves with its path when it is a media file. Waits while
 * the device does not answer, or is busy. Rejects with `UploadRefused`, with `RpcError`, and with the signal's reason.
 * `begun` is the result of `uploads.start` for this file, if the caller has it.
 */
export async function uploadFile(
  client: Caller,
  source: UploadSource,
  options: UploadOptions = {},
  begun?: Started,
): Promise<string> {
  const { signal } = options;
  let failures = 0;
  let isAsked = false;
  let started = begun;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const upload = started ?? (await start(client, source));
      started = undefined;
      if (!("id" in upload)) {
        // The answer to `uploads.finish` was lost.
        if (isAsked && upload.exists === true) return `${source.system}/${source.path}`;
        throw new UploadRefused(upload.refused, upload.exists === true, upload.refusal);
      }
      const sent = await send(upload, source.file, options);
      if (sent.kind === "refused" && ++failures >= failuresMax)
        throw new UploadRefused(sent.why, false, "upload-no-room");
      if (sent.kind === "whole") {
        isAsked = true;
        return (await client.call("uploads.finish", { id: upload.id, sha256: sent.sha256 })).path;
      }
    } catch (error) {
      if (error instanceof UploadRefused || isUnreadable(error)) throw error;
      const isFinal = error instanceof RpcError && error.code !== busy && !isIncomplete(error);
      if (isFinal || (error instanceof RpcError && isIncomplete(error) && ++failures >= failuresMax))
        throw error;
    }
    await pause(retryMs, signal);
  }
}

/** The file was changed or removed after it was chosen. */
function isUnreadable(error: unknown): boolean {
  return error instanceof DOMException && ["NotReadableError", "NotFoundError"].includes(error.name);
}

async function start(
  client: Caller,
  { system, path, file, replace = false }: UploadSource,
): Promise<Started> {
  const { uploads } = await client.call("uploads.start", {
    files: [{ system, path, size: file.size, replace }],
  });
  const [first] = uploads;
  if (first === undefined) throw new Error("the device has answered for no file");
  return first;
}

function isIncomplete({ data }: RpcError): boolean {
  return typeof data === "object" && data !== null && "offset" in data;
}

type Sent =
  | { readonly kind: "whole"; readonly sha256: string }
  /** The connection broke, or another one continues the upload. */
  | { readonly kind: "broken" }
  | { readonly kind: "refused"; readonly why: string };

/** Sends the rest of the file from the offset of the device, and hashes all of it. */
async function send(upload: Begun, file: Blob, options: UploadOptions): Promise<Sent> {
  const { onProgress, signal } = options;
  const primitives = await loadPrimitives();
  const hash = primitives.sha256();
  const seal = { key: fromHex(upload.key) ?? new Uint8Array(), id: upload.id };
  onProgress?.(upload.offset);
  /** The PUT that is being sent. The next bytes are hashed and sealed meanwhile. */
  let sending: Promise<Sent | undefined> | undefined;
  for (let at = 0; at < file.size; ) {
    signal?.throwIfAborted();
    const end =
      at < upload.offset ? Math.min(at + uploadChunkBytesMax, upload.offset) : at + uploadChunkBytesMax;
    const bytes = new Uint8Array(await file.slice(at, end).arrayBuffer());
    for (let from = 0; from < bytes.length; from += hashBytes) {
      hash.update(bytes.subarray(from, from + hashBytes));
      await breathe();
    }
    if (at >= upload.offset) {
      const body = await sealUpload(primitives, seal, at, bytes);
      const refusal = await sending;
      if (refusal !== undefined) return refusal;
      const reached = at + bytes.length;
      sending = put(seal.id, at, body, options).then((refused) => {
        if (refused === undefined) onProgress?.(reached);
        return refused;
      });
      // An abort ends the request as well as this function.
      sending.catch(() => {});
    }
    at += bytes.length;
  }
  return (await sending) ?? { kind: "whole", sha256: toHex(hash.digest()) };
}

async function put(
  id: string,
  offset: number,
  body: Uint8Array<ArrayBuffer>,
  { origin = "", signal }: UploadOptions,
): Promise<Sent | undefined> {
  const late = AbortSignal.timeout(putMsMax);
  const answer = await fetch(`${origin}/uploads/${id}?offset=${offset}&sealed=1`, {
    method: "PUT",
    body,
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
  }).catch(() => undefined);
  signal?.throwIfAborted();
  if (answer === undefined) return { kind: "broken" };
  const text = await answer.text().catch(() => "");
  if (answer.ok) return undefined;
  return answer.status === 507 ? { kind: "refused", why: text.trim() } : { kind: "broken" };
}

/** Lets a page draw and listen. A message comes sooner than a timer. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const over = () => {
      clearTimeout(timer);
      resolve();
    };
    signal?.addEventListener("abort", over, { once: true });
  });
}
