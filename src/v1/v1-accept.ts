/** From the first frame of a connection to its session, version 1 of the secure layer. */
import { assert } from "../core/errors.ts";
import { fromHex } from "../core/hex.ts";
import { SecureFailure } from "../secure/failure.ts";
import { wipe } from "../secure/wipe.ts";
import { type AesGcm, createV1Session, type FirstFrame, type V1Session } from "./v1-session.ts";

export interface KnownV1Client {
  readonly id: string;
  /** The pairing key, 64 hex characters. */
  readonly key: string;
}

export interface V1Parts {
  readonly aes: AesGcm;
  readonly find: (token: string) => KnownV1Client | undefined;
  /**
   * Notes the salt of a session that is about to open, and resolves once that outlasts a pulled plug; false where it was
   * seen before, or where there is no room to note it.
   */
  readonly remember: (clientId: string, salt: Uint8Array) => Promise<boolean>;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** The client said its first payload with the handshake, and has shown with it that it knows its key. */
export interface AcceptedV1 {
  readonly kind: "accepted-v1";
  readonly session: V1Session;
  readonly payload: string;
}

/**
 * Throws `SecureFailure` for an unknown client, a wrong key and a session that was recorded: they look the same. An unknown
 * client is held against a key that nobody has, so that the work is the same too.
 */
export async function acceptFirstFrame(frame: FirstFrame | "malformed", parts: V1Parts): Promise<AcceptedV1> {
  if (frame === "malformed") throw new SecureFailure();
  const { token, salt, sealed } = frame;
  const client = parts.find(token);
  const nobodys = parts.randomBytes(32);
  const pairingKey = client === undefined ? nobodys : fromHex(client.key);
  assert(pairingKey?.length === 32, "a client is stored with a key of 64 hex characters");
  const session = createV1Session({ clientId: client?.id ?? "", token, pairingKey, salt, aes: parts.aes });
  wipe(pairingKey, nobodys);
  const payload = session.openFirst(sealed);
  if (client !== undefined && (await parts.remember(client.id, salt)))
    return { kind: "accepted-v1", session, payload };
  session.close();
  throw new SecureFailure();
}
