/**
 * The errors of the secure layer. All causes of `SecureFailure` share one sentence, so an attacker learns nothing from
 * it.
 */
import { ServiceError } from "../core/errors.ts";

/** The version of this secure layer: `v` of its handshake. */
export const secureVersion = 2;

/**
 * A message does not open. Causes are an unknown client, a wrong secret, an altered, cut, repeated, reflected or
 * reordered message, a second handshake, or a call after `close()`. The session is over and its keys are wiped. The
 * caller closes the connection.
 */
export class SecureFailure extends ServiceError {
  constructor() {
    super(
      "secure-failure",
      "this does not open: connect again, with the id and secret of a client of this device",
    );
  }
}

/** The error for a handshake of a version that is not supported. */
export function unsupportedVersion(supported: readonly number[] = [secureVersion]): ServiceError {
  return new ServiceError(
    "unsupported-secure-version",
    `the secure layer has version ${supported.join(" or ")} here`,
    { data: { supported } },
  );
}

/** The error for a remote connection whose first text is no handshake. */
export function encryptionRequired(): ServiceError {
  return new ServiceError(
    "encryption-required",
    "encryption is required for remote connections: shake hands first",
  );
}
