/** Requests to a server of updates: the files of this device's account, and small JSON answers. */
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Config } from "../config/shape.ts";
import { updateAnswerBytesMax, updateAnswerMsMax, updateFileBytesMax } from "../core/console-limits.ts";
import { fileFault } from "../core/file-faults.ts";
import type { Log } from "../core/log.ts";
import { newestCertificate, renewalPathIn } from "../system/client-certificate.ts";
import { requested } from "../system/download.ts";
import { checkTlsFiles, type TlsFiles } from "../system/tls-files.ts";

type Files = Pick<Config["fleet"], "caFile" | "certificateFile" | "keyFile" | "tokenFile">;

export interface Account {
  readonly tls: TlsFiles;
  /** The value is empty if there is none. */
  readonly token: string;
}

const othersRead = 0o004;
const names = { ca: "fleet.ca_file", cert: "fleet.certificate_file", key: "fleet.key_file" };

/** Reads the files each time, so a renewed certificate is used. Rejects with a sentence that names the setting. */
export function accountReader(files: Files, dataFolder: string, log: Log): () => Promise<Account> {
  let isWarned = false;
  const read = async (key: string, file: string, isSecret: boolean): Promise<string | undefined> => {
    if (file === "") return undefined;
    const path = resolve(dataFolder, file);
    try {
      const { size, mode } = await stat(path);
      if (size > updateFileBytesMax) throw new Error(`it has more than ${updateFileBytesMax} bytes`);
      if (isSecret && (mode & othersRead) !== 0 && !isWarned) {
        log.warn("fleet", "other users can read this secret: chmod o-r", { file: path });
        isWarned = true;
      }
      return await readFile(path, "utf8");
    } catch (error) {
      throw new Error(`fleet.${key}: cannot read ${path}: ${fileFault(error)}`);
    }
  };
  return async () => {
    const { caFile, certificateFile, keyFile, tokenFile } = files;
    if ((certificateFile === "") !== (keyFile === ""))
      throw new Error("fleet.certificate_file and fleet.key_file need each other: set both or none");
    const [ca, named, key, token = ""] = await Promise.all([
      read("ca_file", caFile, false),
      read("certificate_file", certificateFile, false),
      read("key_file", keyFile, true),
      read("token_file", tokenFile, true),
    ]);
    checkTlsFiles({ ca, cert: named, key }, names);
    const isPair = named !== undefined && key !== undefined;
    const cert = isPair ? await newestCertificate({ cert: named, key }, renewalPathIn(dataFolder)) : named;
    if (tokenFile !== "" && !/^[\x21-\x7e]{1,1024}\s*$/.test(token))
      throw new Error("fleet.token_file must hold one line, the security token of this target");
    return {
      tls: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      },
      token: token.trim(),
    };
  };
}

/** The files for another server than that of the account: only the authority, without the device's certificate. */
export function withoutIdentity({ ca }: TlsFiles): TlsFiles {
  return ca === undefined ? {} : { ca };
}

/** The server answered with another status than 200. */
export class StatusError extends Error {
  readonly status: number;

  constructor(url: string, status: number) {
    super(`${url}: the server answered ${status}`);
    this.status = status;
  }
}

export interface Request {
  readonly url: string;
  /** The same as `setting` of `Download`. */
  readonly setting?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsFiles;
  readonly signal: AbortSignal;
}

/** A GET of JSON. Rejects with `StatusError`, or another error with a sentence. */
export async function getJson(request: Request): Promise<unknown> {
  const { url } = request;
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(updateAnswerMsMax)]);
  const response = await requested(request, { accept: "application/json" }, signal);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new StatusError(url, response.status);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > updateAnswerBytesMax)
      throw new Error(`${url}: the answer has more than ${updateAnswerBytesMax} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (error) {
    throw new Error(`${url}: the answer is not JSON`, { cause: error });
  }
}

/** Sends JSON, and follows no redirect. Rejects with `StatusError`, or the error of the network. */
export async function sendJson(request: Request, method: "POST" | "PUT", content: unknown): Promise<void> {
  const { url, headers, tls } = request;
  const response = await fetch(url, {
    method,
    tls,
    redirect: "manual",
    body: JSON.stringify(content),
    headers: { ...headers, "content-type": "application/json" },
    signal: AbortSignal.any([request.signal, AbortSignal.timeout(updateAnswerMsMax)]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new StatusError(url, response.status);
}
