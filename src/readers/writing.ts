/**
 * Writing to tags: the choice of the reader, and the wait for a tag. A tag that was written is launched only after it was
 * removed and tapped again.
 */
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { scriptBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { TokenWritten } from "../core/shapes.ts";
import { normalizeUid } from "../core/token.ts";
import type { Attendance, Attended } from "./attendance.ts";
import { type ReaderSession, type Signal, writeFailed } from "./driver.ts";
import type { Presence } from "./presence.ts";

/** The time that a write waits for its tag (docs/API.md, `readers.write`). Known clients give up after 30 s. */
export const tagWaitMs = 28_000;

export interface WriteRequest {
  /** A launch script. The text may be a URI, which also becomes a Text record unless `record` says otherwise. */
  readonly text: string;
  /** The reader to write with; the first one that can write if absent. */
  readonly readerId?: string | undefined;
  /** The same as `WriteOrder.force`. */
  readonly force?: boolean | undefined;
  /** True to skip a tag that is on the reader since an earlier write. */
  readonly newTag?: boolean | undefined;
  /** The same as `WriteOrder.record`; `text` if absent. */
  readonly record?: "text" | "uri" | undefined;
  /** The UID of a tag to skip, whose script asked for the write. */
  readonly exceptUid?: string | undefined;
}

export type Writing = ReturnType<typeof createWriting>;

interface PendingWrite {
  readonly calling: AbortController;
  /** The signal of its caller, which identifies the caller. */
  readonly caller: AbortSignal | undefined;
  readonly over: Promise<void>;
}

interface WritingParts {
  readonly attendance: Attendance;
  readonly presenceOf: (readerId: string) => Presence;
  readonly clock: Clock;
  readonly log: Log;
  /** The same as `Readers.signal`. */
  readonly signal?: (readerId: string, kind: Signal) => void;
  readonly onWritten?: (written: TokenWritten) => void;
}

export function createWriting({ attendance, presenceOf, clock, log, signal: show, onWritten }: WritingParts) {
  const pending = new Map<string, PendingWrite>();

  const run = async (
    readerId: string,
    place: NonNullable<ReaderSession["write"]>,
    request: WriteRequest,
    signal: AbortSignal | undefined,
  ) => {
    signal?.throwIfAborted();
    const calling = new AbortController();
    const over = Promise.withResolvers<void>();
    const mine = { calling, caller: signal, over: over.promise };
    const callOff = () => calling.abort(signal?.reason);
    const presence = presenceOf(readerId);
    let claimed: string | undefined;
    const waiting = clock.after(tagWaitMs, () =>
      calling.abort(writeFailed("timeout", `no tag was laid on the reader within ${tagWaitMs / 1000} s`)),
    );
    const exceptUid = request.exceptUid === undefined ? undefined : normalizeUid(request.exceptUid);
    const claim = (uid: string) => {
      if (uid === exceptUid || (request.newTag === true && presence.wasWritten(uid))) return false;
      waiting[Symbol.dispose]();
      claimed = uid;
      presence.writing(uid);
      return true;
    };
    const earlier = pending.get(readerId);
    pending.set(readerId, mine);
    signal?.addEventListener("abort", callOff, { once: true });
    try {
      earlier?.calling.abort(new ServiceError("conflict", "a later write of the same caller took its place"));
      await earlier?.over;
      calling.signal.throwIfAborted();
      const { text, force = false, record } = request;
      await place({ text, record, force, claim }, calling.signal);
      log.info("readers", "a tag was written", { reader: readerId, uid: claimed ?? "" });
      show?.(readerId, "written");
      onWritten?.({ readerId, uid: claimed ?? "" });
    } catch (error) {
      show?.(readerId, "failed");
      throw asAnswer(error, claimed !== undefined);
    } finally {
      signal?.removeEventListener("abort", callOff);
      waiting[Symbol.dispose]();
      if (pending.get(readerId) === mine) pending.delete(readerId);
      over.resolve();
    }
  };

  return {
    /**
     * Resolves after the text was written to a tag. Throws `invalid-params` for a text that no tag can hold, and `not-found`
     * and `no-reader` for the reader. Throws `conflict` during the write of another caller, and if a later write with the same
     * signal takes its place. Throws `write-failed` with `data.cause`, and `failed` after a cancel. Rejects with the signal's
     * reason if that aborts before a tag was claimed.
     */
    async write(request: WriteRequest, signal?: AbortSignal): Promise<void> {
      checkText(request.text);
      const { readerId, write } = writerOf(attendance, request.readerId);
      const earlier = pending.get(readerId);
      if (earlier !== undefined && (signal === undefined || earlier.caller !== signal))
        throw new ServiceError(
          "conflict",
          "this reader waits for a tag to write already: cancel that write first",
        );
      await run(readerId, write, request, signal);
    },
    /** Ends the write that waits for a tag, on this reader or on all. A write that has begun is finished. */
    cancel(readerId: string | undefined): void {
      if (readerId !== undefined && attendance.byId(readerId) === undefined) throw unknownReader(readerId);
      for (const [id, { calling }] of pending) {
        if (readerId === undefined || readerId === id)
          calling.abort(new ServiceError("failed", "it was called off"));
      }
    },
  };
}

/** Throws for a text that a reader would not read back unchanged. */
function checkText(text: string): void {
  const refuse = (why: string) => new ServiceError("invalid-params", `text: ${why}`);
  if (text === "") throw refuse("it is empty");
  if (!text.isWellFormed()) throw refuse("it holds half a surrogate pair, which is no character");
  if (text.startsWith("\ufeff")) throw refuse("it begins with a byte-order mark, which readers leave out");
  if (new TextEncoder().encode(text).length > scriptBytesMax)
    throw refuse(`it is longer than ${scriptBytesMax} bytes, and no script may be`);
}

function writerOf(attendance: Attendance, readerId: string | undefined) {
  if (readerId === undefined) {
    const [first] = attendance.all().flatMap((one) => writerIn(one) ?? []);
    if (first === undefined) throw new ServiceError("no-reader", "no reader that can write is connected");
    return first;
  }
  const attended = attendance.byId(readerId);
  if (attended === undefined) throw unknownReader(readerId);
  if (attended.supervisor.session() === undefined)
    throw new ServiceError("no-reader", `the reader ${readerId} is not connected`);
  const writer = writerIn(attended);
  if (writer === undefined) throw new ServiceError("no-reader", `the reader ${readerId} cannot write`);
  return writer;
}

function writerIn({ readerId, supervisor }: Attended) {
  const write = supervisor.session()?.write;
  return write === undefined ? undefined : { readerId, write };
}

export function unknownReader(readerId: string): ServiceError {
  return new ServiceError("not-found", `no reader has the id ${readerId}: see \`readers\``);
}

/** The error for the caller of a write that failed. */
function asAnswer(error: unknown, hadTag: boolean): unknown {
  if (!(error instanceof ServiceError) || error.code !== "reader-gone") return error;
  const facts = { cause: error };
  if (!hadTag) return new ServiceError("no-reader", `the reader is gone: ${error.message}`, facts);
  const sentence = "the reader failed during the write, and the tag may be empty now: write it again";
  return new ServiceError("write-failed", sentence, { ...facts, data: { cause: "gone" } });
}
