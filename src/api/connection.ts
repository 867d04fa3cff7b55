/**
 * One connection as dispatch and notifications see it. While one of its requests is being answered, notifications wait,
 * because the answer to a request must come before the events that the request causes.
 */
import type { From } from "../core/audit.ts";
import { failed } from "../core/errors.ts";
import { allows, type Grant, type Right } from "../core/rights.ts";
import type { Access } from "./admission/access.ts";

/** Gives the result of a method, by the method's own name, the shape that a client expects. */
export type ResultFor = (method: string, result: unknown) => unknown;

/** A caller, and its requests in flight. */
export interface CallerSession {
  readonly access: Access;
  /** The caller's present right. Changed settings and a revocation take effect at once. */
  grant(): Grant;
  /** The caller's name in the audit log. */
  readonly from: From;
  /** The shape of results for clients of version 1; absent for all others. */
  readonly resultFor?: ResultFor | undefined;
  /** Requests that are not answered yet. */
  inFlight: number;
  /** The limit that the caller has exceeded because it does not read earlier answers. */
  readonly unreadLimit?: (() => UnreadLimit | undefined) | undefined;
  /** True after the caller is gone. Its requests are still carried out, but no answer is written. */
  isGone(): boolean;
  /** Aborts when the caller is gone, so a request does not run on without its caller. */
  gone(): AbortSignal;
}

/** The caller, as a method sees it. */
export type MethodCaller = Pick<CallerSession, "access" | "grant" | "gone" | "from">;

export type UnreadLimit = "unsentWhileAskingMax" | "unsentOnDeviceWhileAskingMax";

export type ApiConnection = ReturnType<typeof createConnection>;

export function createConnection(
  { access, grant, from, resultFor }: Pick<CallerSession, "access" | "grant" | "from" | "resultFor">,
  send: (text: string) => void,
  unreadLimit?: () => UnreadLimit | undefined,
) {
  let holds = 0;
  let kept: string[] = [];
  // Created on demand, because few methods ask for it.
  let leaving: AbortController | undefined;
  let hasEnded = false;
  const abort = () => leaving?.abort(failed("the caller is gone"));
  return {
    access,
    grant,
    from,
    resultFor,
    unreadLimit,
    isGone: () => hasEnded,
    inFlight: 0,
    /** Aborts when the caller is gone. */
    gone() {
      leaving ??= new AbortController();
      if (hasEnded) abort();
      return leaving.signal;
    },
    /** Called after the caller is gone. */
    end() {
      hasEnded = true;
      abort();
    },
    /** Sends an answer at once. */
    answer: send,
    /** Sends a notification, or keeps it while the connection is held; drops it if the caller lacks the right, or has `without`. */
    notify(text: string, right: Right, without?: Right) {
      if (!allows(grant(), right) || (without !== undefined && allows(grant(), without))) return;
      if (holds > 0) kept.push(text);
      else send(text);
    },
    /** Keeps notifications back until the returned function is called; further calls of it do nothing. */
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
