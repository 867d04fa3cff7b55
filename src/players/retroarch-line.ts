/**
 * The line to RetroArch: its network commands, one in each UDP datagram, plain text. It answers a few of them
 * (RetroArch 1.14, `command.c`):
 *
 *   GET_STATUS    GET_STATUS PLAYING|PAUSED <system>,<file>,crc32=<hex>   or   GET_STATUS CONTENTLESS
 *
 * All others are done in its next frame, without an answer. It listens on every address of the device: it knows no
 * setting for that, and so its port is another one each time.
 */
import type { Clock } from "../core/clock.ts";

export type RetroArchStatus = "playing" | "paused" | "contentless";

export interface RetroArchLine {
  say(command: string): Promise<void>;
  /** Undefined where nothing answers within `msMax`. */
  status(msMax: number): Promise<RetroArchStatus | undefined>;
  close(): void;
}

const loopback = "127.0.0.1";

export function openRetroArchLine(port: number, clock: Clock): RetroArchLine {
  const waiting = new Set<(status: RetroArchStatus) => void>();
  let isOpen = true;
  const opening = Bun.udpSocket({
    hostname: loopback,
    port: 0,
    socket: {
      data(_socket, datagram, fromPort, from) {
        if (fromPort !== port || from !== loopback) return;
        const status = statusIn(datagram.toString("latin1"));
        if (status !== undefined) for (const take of [...waiting]) take(status);
      },
      error() {
        // Nobody listens there yet, or any more: that is what no answer means.
      },
    },
  });
  const say = async (command: string) => {
    const socket = await opening;
    if (!isOpen) return;
    try {
      socket.send(command, port, loopback);
    } catch {
      // That an earlier one came to nobody's door (ECONNREFUSED) is told to the next, which then is not sent: once more.
      // Where it comes to nobody's again, that is what no answer means.
      sendQuietly(socket, command, port);
    }
  };
  return {
    say,
    status(msMax) {
      return new Promise((resolve, reject) => {
        const done = (status: RetroArchStatus | undefined) => {
          late[Symbol.dispose]();
          waiting.delete(done);
          resolve(status);
        };
        const late = clock.after(msMax, () => done(undefined));
        waiting.add(done);
        say("GET_STATUS").catch(reject);
      });
    },
    close() {
      isOpen = false;
      void opening.then((socket) => socket.close()).catch(() => {});
    },
  };
}

function sendQuietly(socket: Bun.udp.Socket<"buffer">, command: string, port: number): void {
  try {
    socket.send(command, port, loopback);
  } catch {
    // It is asked again, or not at all.
  }
}

/** Undefined for any other datagram. */
export function statusIn(datagram: string): RetroArchStatus | undefined {
  const [, status] = /^GET_STATUS (PLAYING|PAUSED|CONTENTLESS)\b/.exec(datagram) ?? [];
  switch (status) {
    case "PLAYING":
      return "playing";
    case "PAUSED":
      return "paused";
    case "CONTENTLESS":
      return "contentless";
    default:
      return undefined;
  }
}
