/**
 * One connection as dispatch and notifications see it. While one of its requests is being answered, notifications wait:
 * the answer to a request comes before whatever the request causes (decisions, "Order").
 */
import type { From } from "../core/audit.ts";
import { ServiceError } from "../core/errors.ts";
import { allows, type Grant, type Right } from "../core/rights.ts";
import type { Access } from "./admission/access.ts";

/** A caller, and how much of what it asked for is under way. */
export interface Session {
  readonly access: Access;
  /** What it may do now: the settings, and a revocation, count at once. */
  grant(): Grant;
  /** Its name in the audit log. */
  readonly from: From;
  /** Requests that are not answered yet. */
  inFlight: number;
  /** Has not read what was answered earlier; absent where nobody looks. */
  readonly isBehind?: (() => boolean) | undefined;
  /** Aborts when the caller is gone, so that nobody's wish is carried out behind them. */
  gone(): AbortSignal;
}

export interface Connection extends Session {
  /** Sends an answer at once. */
  answer(text: string): void;
  /** Sends a notification, or keeps it while the connection is held; drops it where the caller lacks the right. */
  notify(text: string, right: Right): void;
  /** Keeps notifications back until what it returns is called; a second call of that does nothing. */
  hold(): () => void;
  /** The caller has gone. */
  end(): void;
}

export function createConnection(
  { access, grant, from }: Pick<Session, "access" | "grant" | "from">,
  send: (text: string) => void,
  isBehind?: () => boolean,
): Connection {
  let holds = 0;
  let kept: string[] = [];
  // Made for the few who ask.
  let leaving: AbortController | undefined;
  let hasEnded = false;
  const callOff = () => leaving?.abort(new ServiceError("failed", "the caller is gone"));
  return {
    access,
    grant,
    from,
    isBehind,
    inFlight: 0,
    gone() {
      leaving ??= new AbortController();
      if (hasEnded) callOff();
      return leaving.signal;
    },
    end() {
      hasEnded = true;
      callOff();
    },
    answer: send,
    notify(text, right) {
      if (!allows(grant(), right)) return;
      if (holds > 0) kept.push(text);
      else send(text);
    },
    hold() {
      let isHeld = true;
      holds += 1;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        holds -= 1;
        if (holds > 0) return;
        const texts = kept;
        kept = [];
        texts.forEach(send);
      };
    },
  };
}
