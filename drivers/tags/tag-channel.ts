/**
 * How the readers of tags speak to a tag, whatever chip carries the words: one selected target, and the exchanges that
 * it knows. A driver makes one per target; everything that is known of tag memory stands behind it, once for all drivers.
 */

/** A target as it was listed. */
export type Target =
  | {
      readonly kind: "type-a";
      /** 4, 7 or 10 bytes. */
      readonly uid: Uint8Array;
      /** SENS_RES, big-endian as data sheets print it; absent where the reader does not tell it. */
      readonly atqa?: number;
      readonly sak: number;
      /** Historical bytes of the answer to select; absent where it has none (ISO/IEC 14443-4, 5.2). */
      readonly historicalBytes?: Uint8Array;
    }
  | {
      readonly kind: "felica";
      /** 8 bytes (JIS X 6319-4). */
      readonly idm: Uint8Array;
      readonly pmm: Uint8Array;
      readonly systemCode?: number;
    };

export interface ClassicKey {
  readonly kind: "A" | "B";
  /** 6 bytes. */
  readonly bytes: Uint8Array;
}

/**
 * Every exchange resolves to `undefined` or `false` where the tag did not answer, answered brokenly, or refused; the
 * tag may be silent from then on until it was selected again. Rejects with `reader-gone` only where the reader failed.
 */
export interface TagChannel {
  readonly target: Target;
  /**
   * Bytes as they are, and the answer to them; the chip adds and checks the CRC. Absent where the reader offers no
   * such way: then only `read` and `write` are there, and a plain reader of PC/SC part 3 is all that is assumed.
   */
  readonly transceive?: (bytes: Uint8Array, signal: AbortSignal) => Promise<Uint8Array | undefined>;
  /** 16 bytes: four pages from page `block` on, or a block of a MIFARE Classic sector that was authenticated. */
  read(block: number, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Writes a page (4 bytes) or a block (16 bytes). */
  write(block: number, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>;
  /** MIFARE Classic: proves a key for the sector that `block` is in. */
  authenticate(block: number, key: ClassicKey, signal: AbortSignal): Promise<boolean>;
  /** A command APDU to an ISO/IEC 14443-4 target; the answer ends with its two status bytes. */
  apdu(command: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Selects the target again; false where it left or another lies there. */
  reselect(signal: AbortSignal): Promise<boolean>;
}
