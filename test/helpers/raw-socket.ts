/** WebSocket clients that are only TCP sockets: one that never reads, and one that counts received bytes. */

/** Frames to send, and the state of the socket. */
interface Raw {
  readonly closed: Promise<void>;
  close(): void;
}

export interface DeafSocket extends Raw {
  /** Sends a text frame without waiting for an answer. */
  send(text: string): void;
}

export interface CountingSocket extends Raw {
  write(bytes: Uint8Array): void;
  /** The frames of this number of copies of a text, one after the other. */
  framesOf(text: string, count: number): Uint8Array;
}

/** Connects, sends a hello, and from then on reads nothing. */
export async function openDeafSocket(port: number): Promise<DeafSocket> {
  const socket = await open(port, (self) => self.pause());
  return { ...socket, send: (text) => socket.write(frameOf(text)) };
}

/** Connects, and reports the number of bytes of each arrival. */
export async function openRawSocket(port: number, onBytes: (count: number) => void): Promise<CountingSocket> {
  const socket = await open(port, () => {}, onBytes);
  return {
    ...socket,
    framesOf(text, count) {
      const frame = frameOf(text);
      const all = new Uint8Array(frame.length * count);
      for (let n = 0; n < count; n++) all.set(frame, n * frame.length);
      return all;
    },
  };
}

interface Pausable {
  pause(): void;
}

async function open(
  port: number,
  onGreeted: (socket: Pausable) => void,
  onBytes: (count: number) => void = () => {},
): Promise<Raw & { write(bytes: Uint8Array): void }> {
  const closed = Promise.withResolvers<void>();
  const greeted = Promise.withResolvers<void>();
  let isGreeted = false;
  const unsent: Uint8Array[] = [];
  const flush = (self: { write(bytes: Uint8Array): number }) => {
    for (let bytes = unsent[0]; bytes !== undefined; bytes = unsent[0]) {
      const written = Math.max(0, self.write(bytes));
      if (written < bytes.length) {
        unsent[0] = bytes.subarray(written);
        return;
      }
      unsent.shift();
    }
  };
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(self, bytes) {
        if (isGreeted) return onBytes(bytes.length);
        isGreeted = true;
        onGreeted(self);
        greeted.resolve();
      },
      drain: flush,
      close: () => closed.resolve(),
      error: () => closed.resolve(),
    },
  });
  socket.write(
    `GET /api/v0.1 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${btoa("0123456789abcdef")}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  await greeted.promise;
  return {
    write(bytes) {
      unsent.push(bytes);
      flush(socket);
    },
    closed: closed.promise,
    close: () => socket.terminate(),
  };
}

/** A text frame (RFC 6455, 5.2), masked by zeros. */
function frameOf(text: string): Uint8Array {
  const payload = new TextEncoder().encode(text);
  const [finText, masked] = [0x81, 0x80];
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff];
  const [first = 0, ...more] = length;
  return Uint8Array.of(finText, masked | first, ...more, 0, 0, 0, 0, ...payload);
}
