/**
 * Pairing by a code on a remote socket. If the first text is a pairing hello, the socket carries the pairing only, and is closed
 * after it. Any other first text goes to the sealed line.
 */
import { ServiceError } from "../core/errors.ts";
import { SecureFailure } from "../secure/failure.ts";
import type { PairingHello } from "../secure/pairing.ts";
import type { SealedLine } from "./sealed-line.ts";

/** One exchange. */
export interface PairingTry {
  readonly reply: string;
  /**
   * Takes the proof, which spends a try, and returns the grant. Throws `forbidden` for a wrong code, and `busy` if other
   * callers evicted this exchange, or wrong codes delay it.
   */
  prove(proof: string): string;
  /** The socket is gone. Without a proof no try was spent. */
  close(): void;
}

export interface PairingDoor {
  /** Undefined if the text is no pairing hello. */
  read(text: string): PairingHello | undefined;
  /**
   * Begins an exchange, which spends no try. Throws `forbidden` if no pairing is open, `busy` while wrong codes delay the
   * next one, and `secure-failure` for a share that is forged or our own.
   */
  begin(hello: PairingHello, address: string): Promise<PairingTry>;
}

interface PairingLineParts {
  readonly door: PairingDoor;
  readonly address: string;
  readonly send: (text: string) => void;
  readonly refuse: (error: ServiceError) => void;
  /** The grant was sent. */
  readonly onPaired: () => void;
}

/** A sealed line that also accepts a pairing. */
export function withPairing(sealed: SealedLine, parts: PairingLineParts): SealedLine {
  const { door, address, send, refuse, onPaired } = parts;
  let mode: "new" | "sealed" | "pairing" | "closed" = "new";
  let attempt: PairingTry | undefined;

  const close = () => {
    mode = "closed";
    attempt?.close();
  };
  const fail = (error: unknown) => {
    if (mode === "closed") return;
    close();
    if (!(error instanceof ServiceError)) throw error;
    refuse(error);
  };
  const begin = async (hello: PairingHello) => {
    mode = "pairing";
    try {
      attempt = await door.begin(hello, address);
      // The socket may have closed meanwhile.
      if (mode === "pairing") send(attempt.reply);
      else attempt.close();
    } catch (error) {
      fail(error);
    }
  };
  const prove = (text: string) => {
    try {
      if (attempt === undefined) throw new SecureFailure();
      send(attempt.prove(text));
      close();
      onPaired();
    } catch (error) {
      fail(error);
    }
  };

  return {
    take(text) {
      const hello = mode === "new" ? door.read(text) : undefined;
      if (hello !== undefined) return void begin(hello);
      if (mode === "pairing") return prove(text);
      if (mode === "new") mode = "sealed";
      if (mode === "sealed") sealed.take(text);
    },
    send: sealed.send,
    get clientId() {
      return sealed.clientId;
    },
    close() {
      close();
      sealed.close();
    },
  };
}
