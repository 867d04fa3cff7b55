/**
 * `/backup`: GET downloads the backup that the method `backup` has made, once; PUT sends the file for the method `restore`, and
 * returns its content. Both require the right `own`, as the methods do.
 */

import { backupFileBytesMax } from "../core/console-limits.ts";
import { ServiceError } from "../core/errors.ts";
import { allows } from "../core/rights.ts";
import { json, sentence, type Visit } from "./http.ts";
import type { Services } from "./services.ts";

export const backupPath = "/backup";

export async function answerBackup(
  { backup }: Pick<Services, "backup">,
  { request, access, grant, isPrivate }: Pick<Visit, "request" | "access" | "grant" | "isPrivate">,
): Promise<Response> {
  if (!isPrivate || !allows(grant(), "own"))
    return sentence(403, "backups are for the device itself and for owners over TLS");
  if (request.method !== "GET" && request.method !== "PUT")
    return sentence(405, "GET downloads a backup, and PUT sends one", { allow: "GET, PUT" });
  try {
    return request.method === "GET"
      ? await download(backup)
      : await upload(backup, request, access !== "device");
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return sentence(error.code === "not-found" ? 404 : error.code === "conflict" ? 409 : 422, error.message);
  }
}

async function download(backup: Services["backup"]): Promise<Response> {
  const { stream, bytes } = await backup.take();
  return new Response(stream, {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bytes),
      // The link of the page names the file.
      "content-disposition": "attachment",
      "cache-control": "no-store",
    },
  });
}

async function upload(
  backup: Services["backup"],
  { body, headers }: Request,
  isRemote: boolean,
): Promise<Response> {
  if (body === null) return sentence(422, "this file is empty, so it is no backup of Tapdeck");
  if (Number(headers.get("content-length") ?? 0) > backupFileBytesMax)
    return sentence(413, `a backup has at most ${backupFileBytesMax} bytes`);
  return json(200, JSON.stringify(await backup.give(body, isRemote)));
}
