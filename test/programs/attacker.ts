/**
 * One attacker on the device's network, run in the neighbour's namespace: `attacker.ts KIND HOST SECONDS ADDRESS...`. It
 * uses raw sockets only, from all the given addresses in turn, and never gives up before its time.
 */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { p256 } from "@noble/curves/nist.js";
import { constantU, constantV } from "../../src/v1/pake.ts";

const [kind = "", host = "", seconds = "1", ...addresses] = process.argv.slice(2);
const [port, tlsPort] = [7497, 7498];
const endMs = Date.now() + Number(seconds) * 1000;
const counts = { opened: 0, refused: 0, closed: 0 };
// On a busy machine an attacker may make no connection before its time is over. The attacker then continues until it has
// made one, so each attack takes place.
const patienceMs = 60_000;
const tryMs = 5000;
const mayGoOn = () => Date.now() < (counts.opened > 0 ? endMs : endMs + patienceMs);
let turn = 0;
const nextAddress = () => addresses[turn++ % addresses.length];

interface Held {
  readonly socket: Socket;
  readonly closed: Promise<void>;
}

function open(onOpen: (socket: Socket) => void, over = port): Held {
  const options = { host, port: over, localAddress: nextAddress(), rejectUnauthorized: false };
  const socket = over === port ? connectTcp(options) : connectTls(options);
  const closed = Promise.withResolvers<void>();
  socket.on(over === port ? "connect" : "secureConnect", () => {
    counts.opened += 1;
    onOpen(socket);
  });
  socket.on("error", () => counts.refused++);
  socket.on("close", () => {
    counts.closed += 1;
    closed.resolve();
  });
  socket.on("data", () => {});
  return { socket, closed: closed.promise };
}

/** This many connections exist at a time, and each is opened again after its end. */
async function keep(count: number, one: () => Held): Promise<void> {
  const all = Array.from({ length: count }, async (_, index) => {
    // They do not all begin at once, because the kernel would drop most of them before the service sees them.
    await Bun.sleep(index / 5);
    while (mayGoOn()) {
      const held = one();
      await Promise.race([
        held.closed,
        Bun.sleep(Math.max(counts.opened > 0 ? 0 : tryMs, endMs - Date.now())),
      ]);
      held.socket.destroy();
      await Bun.sleep(5);
    }
  });
  await Promise.all(all);
}

const upgrade = `GET /api/v0.1 HTTP/1.1\r\nHost: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${btoa("0123456789abcdef")}\r\nSec-WebSocket-Version: 13\r\n\r\n`;

/** A masked text frame (RFC 6455, 5.2) with a length of 64 bits, which may be false. */
function frame(payload: Uint8Array, length = payload.length): Uint8Array {
  const head = new DataView(new ArrayBuffer(14));
  head.setUint16(0, 0x81ff);
  head.setBigUint64(2, BigInt(length));
  return Buffer.concat([new Uint8Array(head.buffer), payload]);
}

const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const wrongHello = () =>
  text({
    v: 2,
    t: crypto.randomUUID(),
    e: Buffer.from(crypto.getRandomValues(new Uint8Array(48))).toString("base64"),
  });

/** Requests for the longest answer, again and again, so the answers exceed the memory of any service. */
const discover = Buffer.concat(
  Array.from({ length: 64 }, (_, id) => frame(text({ jsonrpc: "2.0", id, method: "rpc.discover" }))),
);
const post = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** Sends `more` once the upgrade was answered, and then reads nothing. */
function afterUpgrade(socket: Socket, more: Uint8Array): void {
  socket.write(upgrade);
  socket.once("data", () => {
    socket.pause();
    socket.write(more);
  });
}

const decimals = (name: string, { x, y }: { readonly x: bigint; readonly y: bigint }) => ({
  [`${name}x`]: `${x}`,
  [`${name}y`]: `${y}`,
});
/** A first message of version 1's exchange, valid enough to cost the service its part of it. */
const pinStart = text({
  role: 0,
  ...decimals("u", constantU),
  ...decimals("v", constantV),
  ...decimals("x", p256.Point.BASE),
  yx: "0",
  yy: "0",
});

/** Messages of 1 MB. Each is of the kind that takes the service most time: to parse, to check, to keep, or to run. */
function largeMessages(): readonly Uint8Array[] {
  const whole = 1_040_000;
  const filled = (piece: string) =>
    Array.from({ length: Math.floor(whole / (piece.length + 1)) }, () => piece);
  const asked = (params: string) => `{"jsonrpc":"2.0","id":1,"method":"version","params":${params}}`;
  const launch = { jsonrpc: "2.0", id: 1, method: "launch", params: `**echo:${"x".repeat(10_000)}` };
  const texts = [
    asked(`[${filled("0").join()}]`),
    asked(`[${filled("[]").join()}]`),
    asked(
      `{${filled('"key00000":1')
        .map((member, nth) => member.replace("00000", `${nth}`))
        .join()}}`,
    ),
    asked(`"${"\u00e9\u2026".repeat(whole / 5)}"`),
    "x".repeat(whole),
    JSON.stringify(Array.from({ length: 100 }, () => launch)),
  ];
  return texts.map((each) => frame(new TextEncoder().encode(each)));
}

/** Writes as long as the other side reads. */
function pump(socket: Socket, piece: Uint8Array): void {
  const go = () => {
    while (!socket.destroyed && socket.write(piece)) {
      if (Date.now() > endMs) return socket.destroy();
    }
  };
  socket.on("drain", go);
  go();
}

const kinds: Readonly<Record<string, () => Promise<void>>> = {
  /** Connections that send nothing. */
  idle: () => keep(10_000, () => open(() => {})),
  /** The same over TLS, with a complete handshake. */
  "idle-tls": () => keep(2_000, () => open(() => {}, tlsPort)),
  unsealed: () => keep(600, () => open((socket) => socket.write(upgrade))),
  /** A handshake with a wrong secret, again and again. */
  wrong: () =>
    keep(100, () =>
      open((socket) => socket.write(Buffer.concat([Buffer.from(upgrade), frame(wrongHello())]))),
    ),
  /** Frames that announce a terabyte, or that send as much as the service reads. */
  giant: () =>
    keep(200, () =>
      open((socket) => {
        socket.write(upgrade);
        if (Math.random() < 0.5) socket.write(frame(new Uint8Array(100_000), 2 ** 40));
        else pump(socket, Buffer.concat([frame(new Uint8Array(0), 1_500_000), new Uint8Array(65_536)]));
      }),
    ),
  /** Requests whose head arrives a byte at a time. */
  slow: () =>
    keep(1_000, () =>
      open((socket) => {
        socket.write(`GET /ping HTTP/1.1\r\nHost: ${host}\r\nX: `);
        const timer = setInterval(() => socket.write("x"), 1000);
        socket.on("close", () => clearInterval(timer));
      }),
    ),
  /** Bodies that are announced and never end. */
  bodies: () =>
    keep(300, () =>
      open((socket) => {
        const path = Math.random() < 0.5 ? "/api/v0.1" : "/api/pair/start";
        socket.write(post(path, 1_048_576));
        socket.write(new Uint8Array(1_000_000));
      }),
    ),
  /** Bodies over TLS, by POST, which anybody may send. The last bytes never come. */
  "tls-bodies": () =>
    keep(300, () =>
      open((socket) => {
        socket.write(post("/api/v0.1", 1_048_576));
        socket.write(new Uint8Array(1_048_570));
      }, tlsPort),
    ),
  /** WebSockets over TLS whose frame never ends. */
  "tls-frames": () =>
    keep(224, () =>
      open((socket) => afterUpgrade(socket, frame(new Uint8Array(1_000_000), 1_040_000)), tlsPort),
    ),
  /** WebSockets over TLS that request much and read nothing. */
  "tls-deaf": () => keep(224, () => open((socket) => afterUpgrade(socket, discover), tlsPort)),
  /** Connections in all places of anonymous callers, each with messages of 1 MB as fast as the service reads. */
  "tls-large": () => {
    const messages = largeMessages();
    return keep(16, () =>
      open((socket) => {
        const message = messages[turn % messages.length] ?? new Uint8Array();
        socket.write(upgrade);
        socket.once("data", () => pump(socket, message));
      }, tlsPort),
    );
  },
  /** Event streams that are never read, and callers that cause events for them by cards of 16 KiB. */
  "tls-streams": () =>
    keep(224, () =>
      open((socket) => {
        const isListener = turn % 8 !== 0;
        socket.write(
          isListener ? `GET /api/events HTTP/1.1\r\nHost: ${host}\r\nLast-Event-ID: 0-0\r\n\r\n` : upgrade,
        );
        if (isListener) return void socket.pause();
        const card = {
          uid: "04",
          text: `**echo:${"x".repeat(16_000)}`,
          data: "ab".repeat(8000),
          duration: 1,
        };
        const scan = frame(text({ jsonrpc: "2.0", id: 1, method: "tokens.scan", params: card }));
        const timer = setInterval(() => socket.write(scan), 20);
        socket.on("close", () => clearInterval(timer));
      }, tlsPort),
    ),
  /** Tries at a short code (version 2), and begun pairings by PIN (version 1). */
  pairing: () =>
    keep(100, () =>
      open((socket) => {
        if (Math.random() < 0.5) {
          const share = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
          socket.write(Buffer.concat([Buffer.from(upgrade), frame(text({ v: 2, p: share, n: "phone" }))]));
        } else {
          const body = text({ name: "phone", pake: Buffer.from(pinStart).toString("base64") });
          socket.write(Buffer.concat([Buffer.from(post("/api/pair/start", body.length)), body]));
        }
      }),
    ),
  /** Answers that nobody reads. */
  deaf: () =>
    keep(200, () =>
      open((socket) => {
        socket.pause();
        pump(socket, Buffer.from(`GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(200)));
      }),
    ),
};

const run = kinds[kind];
if (run === undefined) throw new Error(`no attack "${kind}": there are ${Object.keys(kinds).join(", ")}`);
await run();
process.stdout.write(`${JSON.stringify({ kind, ...counts })}\n`);
process.exit(0);
