/**
 * Limits the input from callers without an identity: messages, their bytes, and the bytes that are parsed for them. All such
 * callers share one allowance. Each connection also has an allowance of its own. A caller that exceeds it is
 * disconnected, because Bun continues to read from an open WebSocket even if each message is refused.
 */
import type { Clock } from "../../core/clock.ts";
import type { limitReached } from "../../core/errors.ts";
import { createCollector } from "../../core/garbage.ts";
import {
  anonymousBytesPerConnectionMax,
  anonymousMessagesPerConnectionMax,
  anonymousMessagesPerSecondMax,
  anonymousParsedBytesPerSecondMax,
  anonymousReceivedBytesPerSecondMax,
  messageBytesMax,
  shortMessageBytesMax,
} from "../../core/limits.ts";
import { TokenBucket } from "./rate-limits.ts";

type Limit = Parameters<typeof limitReached>[0];

type Intake =
  | { readonly kind: "taken" }
  /** The message is not read; the connection stays. */
  | { readonly kind: "refused"; readonly limit: Limit }
  /** The connection ends. */
  | { readonly kind: "flood"; readonly limit: Limit };

export type ConnectionIntake = ReturnType<ReturnType<typeof createIntake>["connection"]>;

const burstSeconds = 4; // The page and the known apps ask for everything at once after they have connected.

export function createIntake(clock: Clock, noteGarbage = createCollector()) {
  const bucket = (perSecond: number, burst = burstSeconds * perSecond) =>
    new TokenBucket(clock, { tokenMs: 1000 / perSecond, burst });
  const messages = bucket(anonymousMessagesPerSecondMax);
  const received = bucket(anonymousReceivedBytesPerSecondMax);
  const parsed = bucket(anonymousParsedBytesPerSecondMax);
  /** Short messages are limited by their number alone, so the long messages of other callers do not keep them out. */
  const spentFor = (bytes: number): Limit | undefined => {
    if (messages.isSpent()) return "anonymousMessagesPerSecondMax";
    if (bytes <= shortMessageBytesMax) return undefined;
    if (received.isSpent()) return "anonymousReceivedBytesPerSecondMax";
    return parsed.isSpent() ? "anonymousParsedBytesPerSecondMax" : undefined;
  };
  const takeFromAll = (bytes: number): Limit | undefined => {
    const limit = spentFor(bytes);
    messages.spend(1);
    if (bytes > shortMessageBytesMax) received.spend(bytes);
    if (bytes > shortMessageBytesMax && limit === undefined) parsed.spend(bytes);
    return limit;
  };
  return {
    /** The limit that would refuse a message of this length now. */
    spentFor,
    /** Takes a message that came without a connection of its own. */
    take: takeFromAll,
    connection() {
      const own = {
        messages: bucket(anonymousMessagesPerConnectionMax),
        bytes: bucket(anonymousBytesPerConnectionMax, messageBytesMax),
      };
      return {
        take(bytes: number): Intake {
          noteGarbage(bytes);
          if (own.messages.isSpent()) return { kind: "flood", limit: "anonymousMessagesPerConnectionMax" };
          if (own.bytes.isSpent()) return { kind: "flood", limit: "anonymousBytesPerConnectionMax" };
          own.messages.spend(1);
          own.bytes.spend(bytes);
          const limit = takeFromAll(bytes);
          if (limit === undefined) return { kind: "taken" };
          // A refused message has already been decrypted and turned into text.
          return { kind: limit === "anonymousReceivedBytesPerSecondMax" ? "flood" : "refused", limit };
        },
      };
    },
  };
}
