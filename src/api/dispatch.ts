/**
 * Turns a payload into its answer: finds the methods, checks quotas, runs them, and audits. It does not depend on the
 * transport.
 */
import type { Audit } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { type ErrorCode, limitReached, ServiceError } from "../core/errors.ts";
import {
  anonymousJsonValuesMax,
  auditObjectCharsMax,
  batchAnswersCharsMax,
  inFlightPerConnectionMax,
  launchesFromAfarPerSecondMax,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { allows } from "../core/rights.ts";
import { didYouMean } from "../core/text.ts";
import { TokenBucket, type WriteQuota } from "./admission/rate-limits.ts";
import type { ApiConnection, CallerSession } from "./connection.ts";
import { errorText, type Item, readEnvelope, refusalText, resultText } from "./envelope.ts";
import type { Method, Watch } from "./method.ts";
import { methodNames, methodOf } from "./methods/index.ts";
import type { Services } from "./services.ts";

interface DispatchParts {
  readonly services: Services;
  readonly log: Log;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly quota: WriteQuota;
}

type Request = Extract<Item, { kind: "request" }>;

/** The answer's text; undefined if no answer is due. The result is a promise only if a method is asynchronous. */
type AnswerText = string | undefined | Promise<string | undefined>;

/** Calls `onWait` if one of the methods answers only after a long operation. */
export type Dispatch = (session: CallerSession, payload: string, onWait?: () => void) => AnswerText;

export function createDispatch({ services, log, audit, clock, quota }: DispatchParts): Dispatch {
  const remoteLaunches = new TokenBucket(clock, {
    tokenMs: 1000 / launchesFromAfarPerSecondMax,
    burst: launchesFromAfarPerSecondMax,
  });
  /** Counts the disk writes of a remote caller, and audits its changes. */
  const watchOf = (session: CallerSession, method: Method): Watch => ({
    before(writes) {
      if (method.launches !== true && !writes) return;
      if (method.launches === true && !remoteLaunches.take())
        throw limitReached("launchesFromAfarPerSecondMax", "too many remote launches: wait a second");
      quota.take(session.from);
    },
    onChanged: (object) =>
      audit.changed(session.from, { method: method.name, object: object.slice(0, auditObjectCharsMax) }),
  });
  const refusal = (session: CallerSession, { id, method }: Request, error: unknown) => {
    const isForbidden = error instanceof ServiceError && error.code === "forbidden";
    // A caller that asks for its rights attempts nothing forbidden.
    if (isForbidden && session.access !== "device" && method !== "rights")
      audit.refused("forbidden-method", session.from);
    if (!(error instanceof ServiceError)) {
      const stack = error instanceof Error ? error.stack : String(error);
      log.error("api", "internal error", { method, error: stack });
    }
    return id === undefined ? undefined : refusalText(id, shownTo(session, error));
  };
  const run = (session: CallerSession, item: Item, onWait: () => void): AnswerText => {
    if (item.kind === "response") return undefined;
    if (item.kind === "refused") return item.answer;
    try {
      const method = find(session, item.method);
      const watch = session.access === "device" ? undefined : watchOf(session, method);
      const result = method.call(services, item.params, session, watch);
      if (method.launches === true && session.access !== "device") audit.launched(session.from);
      const answer = (made: unknown) =>
        session.isGone() ? undefined : answerTo(item, session.resultFor?.(method.name, made) ?? made);
      if (!(result instanceof Promise)) return answer(result);
      if (method.isLong === true) onWait();
      session.inFlight += 1;
      return result
        .then(answer, (error) => refusal(session, item, error))
        .finally(() => {
          session.inFlight -= 1;
        });
    } catch (error) {
      return refusal(session, item, error);
    }
  };

  return (session, payload, onWait = () => {}) => {
    const isStranger = session.access === "remote" && session.from.client === undefined;
    const envelope = readEnvelope(payload, isStranger ? anonymousJsonValuesMax : undefined);
    if (envelope.kind === "single") return run(session, envelope.item, onWait);
    let chars = 0;
    const answers = envelope.items.map((item) => {
      const answer = (chars > batchAnswersCharsMax ? leftOut(item) : undefined) ?? run(session, item, onWait);
      if (typeof answer === "string") chars += answer.length;
      return answer;
    });
    return answers.some((answer) => answer instanceof Promise)
      ? Promise.all(answers).then(batchText)
      : batchText(answers as readonly (string | undefined)[]);
  };
}

function answerTo({ id }: Request, result: unknown): string | undefined {
  return id === undefined ? undefined : resultText(id, result);
}

/**
 * Hides from a caller without the right `change` the paths, files and player output that an error may name. Errors about
 * the caller's own request, and public ones, name none of these.
 */
function shownTo(session: CallerSession, error: unknown): unknown {
  if (!(error instanceof ServiceError) || allows(session.grant(), "change")) return error;
  if (error.isPublic || publicCodes.has(error.code)) return error;
  return new ServiceError(error.code, 'it failed; why is shown to clients with the right "change"');
}

const publicCodes: ReadonlySet<ErrorCode> = new Set([
  "busy",
  "forbidden",
  "invalid-params",
  "method-not-found",
]);

/** The refusal of a request after the batch has too many answers; undefined for a notification, which still runs. */
function leftOut(item: Item): string | undefined {
  if (item.kind !== "request" || item.id === undefined) return undefined;
  const sentence = "the answers to this batch are too long: ask for the rest in another one";
  return errorText(item.id, "busy", sentence, { limit: "batchAnswersCharsMax" });
}

/** Dispatches a payload of a connection, and answers it there before the notifications that it causes. */
export function serveOn(dispatch: Dispatch, connection: ApiConnection, payload: string): void {
  const release = connection.hold();
  const finish = (text: string | undefined) => {
    if (text !== undefined) connection.answer(text);
    release();
  };
  // A caller that waits for a long operation gets notifications meanwhile.
  const answer = dispatch(connection, payload, release);
  if (answer instanceof Promise) void answer.then(finish);
  else finish(answer);
}

function batchText(answers: readonly (string | undefined)[]): string | undefined {
  const due = answers.filter((answer) => answer !== undefined);
  return due.length === 0 ? undefined : `[${due.join(",")}]`;
}

function find(session: CallerSession, name: string): Method {
  if (session.inFlight >= inFlightPerConnectionMax) {
    const sentence = `${inFlightPerConnectionMax} requests are in flight on this connection already`;
    throw limitReached("inFlightPerConnectionMax", sentence);
  }
  const unread = session.unreadLimit?.();
  if (unread !== undefined) {
    const sentence = "too much was answered to callers like you: read it, wait a second, and ask again";
    throw limitReached(unread, sentence);
  }
  const method = methodOf(name);
  if (method !== undefined) return method;
  throw new ServiceError(
    "method-not-found",
    `there is no method ${name.slice(0, 64)}${didYouMean(name, methodNames)}`,
  );
}
