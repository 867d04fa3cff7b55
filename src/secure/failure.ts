/** The refusals of the secure layer. What does not open is told apart by nothing: one sentence for every cause. */
import { ServiceError } from "../core/errors.ts";

/** The version of the secure layer that is spoken here, the `v` of its handshake. */
export const secureVersion = 2;

/**
 * Something does not open: a stranger, a wrong secret, a message that was altered, cut, repeated, sent back or out of
 * order, a second handshake, or use after `close()`. The session is over and its keys are gone; close the connection.
 */
export class SecureFailure extends ServiceError {
  constructor() {
    super(
      "secure-failure",
      "this does not open: connect again, with the id and secret of a client of this device",
    );
  }
}

/** A handshake of another version than those that are spoken here. */
export function unsupportedVersion(supported: readonly number[] = [secureVersion]): ServiceError {
  return new ServiceError(
    "unsupported-secure-version",
    `the secure layer has version ${supported.join(" or ")} here`,
    { data: { supported } },
  );
}

/** Neither a handshake nor a sealed message. */
export function encryptionRequired(): ServiceError {
  return new ServiceError(
    "encryption-required",
    "encryption is required for remote connections: shake hands first",
  );
}
