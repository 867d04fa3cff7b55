/** An order to a CCID reader, its answer, and the two ways to send it. */
import type { CcidStatus } from "../protocol/ccid.ts";

export interface CcidOrder {
  readonly type: number;
  readonly data?: Uint8Array;
  /** The time-out if the usual 500 ms are too short, for a card that computes. */
  readonly timeoutMs?: number;
  /** Returns false for an answer that shows a fault of the reader. Without this function every answer is accepted. */
  readonly accepts?: (answer: CcidAnswer) => boolean;
}

export interface CcidAnswer {
  readonly status: CcidStatus;
  readonly data: Uint8Array;
}

/** Sends an order to the reader, with all its retries or as one attempt. */
export type Send = (order: CcidOrder, signal?: AbortSignal) => Promise<CcidAnswer>;

/** One try. Rejects with `UsbFault` if no answer came. */
export type Attempt = (order: CcidOrder) => Promise<CcidAnswer>;
