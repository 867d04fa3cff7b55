/**
 * The tokens that lie on readers now, real and virtual, and the last one that came. Tells the bus of each change. What
 * lay on a reader that failed counts as lying there until the reader is back and says otherwise.
 */
import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { withoutSecrets } from "../core/pairing-link.ts";
import type { Requester } from "../core/rights.ts";
import type { Sighting, Token, TokenParams } from "../core/token.ts";

export interface Tokens {
  added(sighting: Sighting, readerId: string): void;
  removed(sighting: Sighting, readerId: string): void;
  /** A token of the API's virtual reader: comes now, leaves after `durationMs`. */
  virtual(params: TokenParams, durationMs: number, requester?: Requester): void;
  /** The caller that laid the virtual token down; undefined for tokens of readers. */
  requesterOf(token: Token): Requester | undefined;
  /** Takes the virtual token off, where its caller is meant. */
  withdraw(isMeant: (requester: Requester) => boolean): void;
  list(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  /** Ends virtual tokens' timers. */
  close(): void;
}

interface Virtual {
  readonly token: Token;
  readonly requester: Requester | undefined;
  readonly leaving: Disposable;
}

export function createTokens(bus: Bus, clock: Clock): Tokens {
  let active: readonly Token[] = [];
  let last: Token | undefined;
  let virtual: Virtual | undefined;

  const add = (token: Token) => {
    active = [...active, token];
    last = token;
    bus.emit("tokens.added", token);
  };
  const remove = (token: Token | undefined) => {
    if (token === undefined) return;
    active = active.filter((other) => other !== token);
    bus.emit("tokens.removed", token);
  };
  const endVirtual = () => {
    virtual?.leaving[Symbol.dispose]();
    const token = virtual?.token;
    virtual = undefined;
    remove(token);
  };

  return {
    added: (sighting, readerId) =>
      add({ ...withoutSecrets(sighting), scanTime: rfc3339(clock.now()), readerId }),
    removed(sighting, readerId) {
      const { uid, text } = withoutSecrets(sighting);
      remove(active.find((token) => token.readerId === readerId && token.uid === uid && token.text === text));
    },
    virtual(params, durationMs, requester) {
      endVirtual();
      const { uid, text, data } = withoutSecrets(params);
      const token = {
        type: params.type || "api",
        uid,
        text,
        data,
        scanTime: rfc3339(clock.now()),
        readerId: "",
      };
      virtual = { token, requester, leaving: clock.after(durationMs, endVirtual) };
      add(token);
    },
    // Asked while the token is new: the next one takes its place.
    requesterOf: (token) => (virtual?.token === token ? virtual.requester : undefined),
    withdraw(isMeant) {
      if (virtual?.requester !== undefined && isMeant(virtual.requester)) endVirtual();
    },
    list: () => ({ active, last }),
    close: () => virtual?.leaving[Symbol.dispose](),
  };
}
