/** Tokens on the readers, virtual ones, and the launch history: `tokens`, `tokens.scan`, `tokens.cards`, `tokens.history`. */
import * as v from "valibot";
import {
  historyCursorCharsMax,
  historyPageMax,
  scanMsMax,
  scriptBytesMax,
  tappedCardsMax,
} from "../../core/limits.ts";
import { launchEntry, tappedCard, token } from "../../core/shapes.ts";
import { method, requesterOf } from "../method.ts";
import { hasContent, isoTime, pagination, tokenFields, toToken, upTo } from "../schemas.ts";

const durationMsDefault = 500;

const limitDefault = 100;

export const tokenMethods = [
  method({
    name: "tokens",
    right: "change",
    docs: "The tokens that are on readers now, and the last one that arrived.",
    result: v.object({ active: v.array(token), last: v.nullable(token) }),
    run(services) {
      const { active, last } = services.tokens();
      return { active, last: last ?? null };
    },
  }),
  method({
    name: "tokens.scan",
    right: "change",
    launches: true,
    docs: "Lays a virtual token on a reader for `duration` milliseconds: `tokens.added`, its launch, and `tokens.removed` follow. `readerId` names a simulated reader, whose bytes then run through the real driver.",
    params: v.pipe(
      v.object({
        ...tokenFields,
        duration: v.optional(upTo(scanMsMax)),
        readerId: v.optional(v.pipe(v.string(), v.maxLength(128))),
      }),
      hasContent(),
    ),
    shorthand: "text",
    errors: ["not-found", "busy"],
    run: (services, { duration = durationMsDefault, readerId, ...params }, caller) =>
      services.scan(toToken(params), duration, readerId, requesterOf(caller)),
  }),
  method({
    name: "tokens.cards",
    right: "change",
    docs: "The cards in the history, each once, the one that was tapped last first: the text on it, what its last tap launched, and the number of its taps that the history has. A list of long texts has fewer than `limit` cards.",
    params: v.object({ limit: v.optional(upTo(tappedCardsMax), tappedCardsMax) }),
    result: v.object({ cards: v.array(tappedCard) }),
    run: (services, { limit }) => ({ cards: services.cards(limit) }),
  }),
  method({
    name: "tokens.history",
    right: "change",
    docs: "Recent launches, newest first; `before` leaves only those before a time, and `uid` only those of one card. A page of long texts has fewer than `limit` entries. With `cursor` there is `pagination`: null asks for the first page, and `nextCursor` of a page for the next one, with the same other params.",
    params: v.object({
      limit: v.optional(upTo(historyPageMax), limitDefault),
      before: v.optional(isoTime),
      cursor: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(historyCursorCharsMax)))),
      uid: v.optional(v.pipe(v.string(), v.maxLength(scriptBytesMax))),
    }),
    result: v.object({ entries: v.array(launchEntry), pagination: v.exactOptional(pagination) }),
    run(services, { limit, before, cursor, uid = "" }) {
      const time = before === undefined ? {} : { beforeMs: Date.parse(before) };
      const { entries, nextCursor } = services.history({ limit, uid, ...time, cursor: cursor || undefined });
      if (cursor === undefined) return { entries };
      const next = nextCursor === undefined ? {} : { nextCursor };
      return { entries, pagination: { hasNextPage: nextCursor !== undefined, pageSize: limit, ...next } };
    },
  }),
] as const;
