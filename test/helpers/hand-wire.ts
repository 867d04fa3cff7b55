/** HTTP and WebSocket by hand, on a socket of the caller's choice: every header and every frame is as given. */
import type { Socket } from "node:net";

/** The headers that ask for a WebSocket (RFC 6455, 4.1). */
export const upgradeHeaders = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": btoa("0123456789abcdef"),
} as const;

export interface Reader {
  /** Reads up to this text, which is included. The rest stays for the next read. */
  until(end: string): Promise<string>;
  take(count: number): Promise<Uint8Array>;
}

/** The bytes that come from a socket. A read rejects once the socket has ended with too few bytes. */
export function readerOf(socket: Socket): Reader {
  let kept: Buffer = Buffer.alloc(0);
  let over: unknown;
  let wake = () => {};
  socket.on("data", (bytes: Buffer) => {
    kept = Buffer.concat([kept, bytes]);
    wake();
  });
  const ended = (why: unknown) => {
    over ??= why;
    wake();
  };
  socket.on("error", ended);
  socket.on("close", () => ended("the connection was closed"));
  const when = async (isThere: () => number | undefined): Promise<Buffer> => {
    for (;;) {
      const count = isThere();
      if (count !== undefined) {
        const taken = kept.subarray(0, count);
        kept = kept.subarray(count);
        return taken;
      }
      if (over !== undefined) throw over;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    until: async (end) =>
      (
        await when(() => {
          const at = kept.indexOf(end);
          return at < 0 ? undefined : at + end.length;
        })
      ).toString("latin1"),
    take: (count) => when(() => (kept.length >= count ? count : undefined)),
  };
}

/** The kinds of frames, with the bit that marks the last frame of a message (RFC 6455, 5.2). */
export const [textFrame, closeFrame, pingFrame, pongFrame] = [0x81, 0x88, 0x89, 0x8a];

/** A frame (RFC 6455, 5.2), masked by zeros. */
export function frameOf(text: string, kind = textFrame): Uint8Array {
  const payload = Buffer.from(text);
  const head = new DataView(new ArrayBuffer(14));
  head.setUint8(0, kind);
  if (payload.length > 0xffff) {
    head.setUint8(1, 0x80 | 127);
    head.setBigUint64(2, BigInt(payload.length));
    return Buffer.concat([new Uint8Array(head.buffer), payload]);
  }
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Uint8Array.of(kind, ...length, 0, 0, 0, 0), payload]);
}

export interface Frame {
  readonly kind: number;
  readonly payload: Buffer;
}

/** The next frame of a service, which is not masked. */
export async function frameFrom(bytes: Reader): Promise<Frame> {
  const [kind = 0, second = 0] = await bytes.take(2);
  const wide = (part: Uint8Array) => new DataView(part.buffer, part.byteOffset);
  let length = second;
  if (second === 126) length = wide(await bytes.take(2)).getUint16(0);
  if (second === 127) length = Number(wide(await bytes.take(8)).getBigUint64(0));
  return { kind, payload: Buffer.from(await bytes.take(length)) };
}
