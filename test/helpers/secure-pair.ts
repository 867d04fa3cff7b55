import { accept, start } from "../../src/secure/handshake.ts";
/** Two ends of a secure session, and the changes that an attacker between them can make to a text. */
import { loadPrimitives } from "../../src/secure/primitives.ts";
import type { SecureSession } from "../../src/secure/secure-session.ts";

export const primitives = await loadPrimitives();
export const clientId = "1f8b6f4e-5f0c-4a53-9d0e-2f7f3c1f9a11";
export const secret = "5a".repeat(32);

export interface Pair {
  readonly client: SecureSession;
  readonly service: SecureSession;
  /** The texts of the handshake on the wire. */
  readonly hello: string;
  readonly reply: string;
}

export function startClient(id = clientId, withSecret = secret) {
  return start(primitives, id, withSecret);
}

/** The service's side of a session whose hello it accepts. */
export function acceptHello(hello: string): { readonly session: SecureSession; readonly reply: string } {
  const accepted = accept(primitives, hello, lookup);
  if (accepted.kind === "refused") throw accepted.error;
  return accepted;
}

export function lookup(id: string): string | undefined {
  return id === clientId ? secret : undefined;
}

export function makePair(): Pair {
  const started = startClient();
  const { session, reply } = acceptHello(started.hello);
  return { client: started.finish(reply), service: session, hello: started.hello, reply };
}

/** The changes that an attacker makes at one place of a text. Some leave the text unchanged, and these are no attack. */
export const changes: Readonly<Record<string, (text: string, at: number) => string>> = {
  "lowest bit flipped": (text, at) => replaced(text, at, String.fromCharCode(text.charCodeAt(at) ^ 1)),
  "fifth bit flipped": (text, at) => replaced(text, at, String.fromCharCode(text.charCodeAt(at) ^ 0x10)),
  "made an A": (text, at) => replaced(text, at, "A"),
  "cut out": (text, at) => replaced(text, at, ""),
  doubled: (text, at) => replaced(text, at, text.charAt(at).repeat(2)),
  "cut off": (text, at) => text.slice(0, at),
  "swapped with the next": (text, at) =>
    text.slice(0, at) + text.charAt(at + 1) + text.charAt(at) + text.slice(at + 2),
};

function replaced(text: string, at: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + 1);
}
