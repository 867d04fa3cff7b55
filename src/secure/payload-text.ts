/** The text that a sealed payload is, in either version of the secure layer, and its limit. */
import { ServiceError } from "../core/errors.ts";
import { messageBytesMax } from "../core/limits.ts";

/** Undefined where the bytes are not UTF-8. A byte order mark is kept: sealing and opening changes nothing. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Not UTF-8 is all that there is to say of it.
    return undefined;
  }
}

export function tooLong(): ServiceError {
  return new ServiceError("busy", `a sealed payload may have ${messageBytesMax} bytes`, {
    data: { limit: "messageBytesMax" },
  });
}
