/**
 * Numbers in a form that tells nobody but this service what they are: the ids of events count what a listener may not hear.
 *
 *   block    8 random bytes, then the number in 8, big-endian; encrypted by AES-128 (FIPS 197) with a key of this run
 */
import { createCipheriv, createDecipheriv, randomFillSync } from "node:crypto";

export interface OpaqueIds {
  /** 32 hex digits, others each time. */
  hide(number: number): string;
  /** The number of an id. Any other text is an improbably high number, or `undefined` where it has another form. */
  reveal(id: string): number | undefined;
}

const [blockBytes, randomBytes] = [16, 8];

export function createOpaqueIds(): OpaqueIds {
  const key = randomFillSync(new Uint8Array(blockBytes));
  // One block by itself needs no mode and no padding.
  const cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const decipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const block = Buffer.alloc(blockBytes);
  return {
    hide(number) {
      randomFillSync(block, 0, randomBytes);
      block.writeBigUInt64BE(BigInt(number), randomBytes);
      return cipher.update(block).toString("hex");
    },
    reveal(id) {
      if (!/^[0-9a-f]{32}$/.test(id)) return undefined;
      return Number(decipher.update(Buffer.from(id, "hex")).readBigUInt64BE(randomBytes));
    },
  };
}
