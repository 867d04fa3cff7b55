/** A link over the secure layer: shakes hands as it opens, and seals and opens what goes over it from then on. */
import { startHandshake } from "../secure/handshake.ts";
import type { Session } from "../secure/secure-session.ts";
import { deferred } from "./deferred.ts";
import type { Identity } from "./identity.ts";
import { type Link, type LinkOptions, openLink } from "./link.ts";
import { readProtocolError } from "./rpc-error.ts";

/** A request without an id is never answered (jsonrpc.org/specification, 4.1). */
const proof = JSON.stringify({ jsonrpc: "2.0", method: "version" });

/**
 * As `openLink`. Rejects with `RpcError` where the device refuses, with `ServiceError` where id or secret cannot be right, or
 * the other side does not know the secret.
 */
export async function openSealedLink(
  url: string,
  { id, secret }: Identity,
  options: LinkOptions,
): Promise<Link> {
  const handshake = await startHandshake(id, secret);
  const shaken = deferred<Session>();
  let session: Session | undefined;
  const take = (text: string) => {
    try {
      // A refusal comes in the clear: nobody can be sure who sent it, but what follows it is the line's end anyway.
      const refusal = readProtocolError(text);
      if (refusal !== undefined) throw refusal;
      if (session === undefined) {
        session = handshake.finish(text);
        shaken.resolve(session);
        return;
      }
      const opened = session.open(text);
      if (opened.kind === "payload") options.onMessage(opened.text);
    } catch (error) {
      shaken.reject(error);
      link.close();
    }
  };
  const link = await openLink(url, { ...options, onMessage: take });
  void link.ended.then((error) => {
    shaken.reject(error);
    session?.close();
  });
  options.signal?.addEventListener("abort", link.close, { once: true });
  link.send(handshake.hello);
  const open = await shaken.promise.finally(() => options.signal?.removeEventListener("abort", link.close));
  // The first sealed payload proves the secret: a client that only listens would hear nothing, and be closed.
  link.send(open.seal(proof));
  return { ...link, send: (text) => link.send(open.seal(text)) };
}
