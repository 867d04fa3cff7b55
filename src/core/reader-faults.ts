/**
 * Counts of faults of all readers since the start of the process. They are plain numbers, because noise on a line may be
 * counted thousands of times a second. `/metrics` shows them.
 */
export const readerFaults = {
  /** A reader that worked has failed and is opened again, or recovery has reset it. */
  resets: 0,
  /** Bytes of a reader that are no frame, message or line of its protocol; several in a row may count once. */
  badFrames: 0,
};
