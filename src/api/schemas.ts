/** Shapes that several methods share (contract, "Resources"; decisions, "Objects"). */
import { type Static, Type } from "typebox";
import { ServiceError } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import { scriptBytesMax, tokenDataCharsMax, tokenTypeCharsMax, uidCharsMax } from "../core/limits.ts";
import type { TokenParams } from "../core/token.ts";

export const nothing = Type.Null();
const time = Type.String({ format: "date-time" });

export const tokenParams = {
  type: Type.Optional(Type.String({ maxLength: tokenTypeCharsMax })),
  uid: Type.Optional(Type.String({ maxLength: uidCharsMax })),
  text: Type.Optional(Type.String()),
  data: Type.Optional(Type.String({ maxLength: tokenDataCharsMax })),
};

const launchParams = Type.Object(tokenParams);

/** Absent fields as empty strings; refuses a token that says nothing, says it in no hex, or says too much. */
export function toToken({
  type = "",
  uid = "",
  text = "",
  data = "",
}: Static<typeof launchParams>): TokenParams {
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

export const token = Type.Object({
  type: Type.String(),
  uid: Type.String(),
  text: Type.String(),
  data: Type.String(),
  scanTime: time,
  readerId: Type.String(),
});

export const reader = Type.Object({
  id: Type.String(),
  readerId: Type.String(),
  driver: Type.String(),
  path: Type.String(),
  info: Type.String(),
  connected: Type.Boolean(),
  capabilities: Type.Array(
    Type.Union([Type.Literal("read"), Type.Literal("write"), Type.Literal("removable")]),
  ),
});

export const activeMedia = Type.Object({
  systemId: Type.String(),
  systemName: Type.String(),
  mediaPath: Type.String(),
  mediaName: Type.String(),
  launcherId: Type.String(),
  started: time,
});

export const launchEntry = Type.Object({
  type: Type.String(),
  uid: Type.String(),
  text: Type.String(),
  data: Type.String(),
  success: Type.Boolean(),
  time,
  readerId: Type.Optional(Type.String()),
  script: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
});
