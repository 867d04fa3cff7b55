/** Shapes that several methods share (contract, "Resources"; decisions, "Objects"). */
import * as v from "valibot";
import { ServiceError } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import { scriptBytesMax, tokenDataCharsMax, tokenTypeCharsMax, uidCharsMax } from "../core/limits.ts";
import type { TokenParams } from "../core/token.ts";

export const nothing = v.null();
const time = v.pipe(v.string(), v.isoTimestamp());

export const tokenParams = {
  type: v.optional(v.pipe(v.string(), v.maxLength(tokenTypeCharsMax))),
  uid: v.optional(v.pipe(v.string(), v.maxLength(uidCharsMax))),
  text: v.optional(v.string()),
  data: v.optional(v.pipe(v.string(), v.maxLength(tokenDataCharsMax))),
};

const launchParams = v.object(tokenParams);

/** Absent fields as empty strings; refuses a token that says nothing, says it in no hex, or says too much. */
export function toToken({
  type = "",
  uid = "",
  text = "",
  data = "",
}: v.InferOutput<typeof launchParams>): TokenParams {
  if (uid === "" && text === "" && data === "") {
    throw new ServiceError("invalid-params", "text, uid, data: at least one of them must not be empty");
  }
  if (text.length > scriptBytesMax || new TextEncoder().encode(text).length > scriptBytesMax) {
    throw new ServiceError("busy", `text: a script has at most ${scriptBytesMax} bytes`, {
      data: { limit: "scriptBytesMax" },
    });
  }
  const bytes = fromHex(data);
  if (bytes === undefined) throw new ServiceError("invalid-params", "data: must be bytes in hexadecimal");
  return { type, uid, text, data: toHex(bytes) };
}

export const token = v.object({
  type: v.string(),
  uid: v.string(),
  text: v.string(),
  data: v.string(),
  scanTime: time,
  readerId: v.string(),
});

export const reader = v.object({
  id: v.string(),
  readerId: v.string(),
  driver: v.string(),
  path: v.string(),
  info: v.string(),
  connected: v.boolean(),
  capabilities: v.array(v.picklist(["read", "write", "removable"])),
});

export const activeMedia = v.object({
  systemId: v.string(),
  systemName: v.string(),
  mediaPath: v.string(),
  mediaName: v.string(),
  launcherId: v.string(),
  started: time,
});

export const launchEntry = v.object({
  type: v.string(),
  uid: v.string(),
  text: v.string(),
  data: v.string(),
  success: v.boolean(),
  time,
  readerId: v.optional(v.string()),
  script: v.optional(v.string()),
  error: v.optional(v.string()),
});
