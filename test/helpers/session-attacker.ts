/**
 * Makes a handshake with a valid secret, and then attacks the session: `session-attacker.ts KIND URL JSON`. Prints the
 * result of each try. Run it in a namespace.
 */
import { connect } from "node:net";
import { startHandshake } from "../../src/secure/handshake.ts";
import type { SecureSession } from "../../src/secure/secure-session.ts";
import { within } from "./processes.ts";

const [kind = "", url = "", told = "{}"] = process.argv.slice(2);
const { client, sources }: { client: { id: string; secret: string }; sources: readonly string[] } =
  JSON.parse(told);
const { hostname, port, pathname } = new URL(url);
let turn = 0;

interface Line {
  readonly session: SecureSession;
  readonly hello: string;
  readonly reply: string;
  send(text: string): void;
  /** Ends the connection. */
  leave(): void;
  /** Resolves with the end of the session; `answered` if a frame came that can be decrypted. */
  end(): Promise<string>;
}

const request = '{"jsonrpc":"2.0","id":1,"method":"version"}';

/** An attack makes a frame from a fresh session. `undefined` means that there is nothing to send. */
type Attack = (line: Line) => Promise<readonly string[]> | readonly string[];

const frameLength = 96; // The number of places in the sealed request, as text. Each place of the request is tried.

const attacks: Readonly<Record<string, readonly Attack[]>> = {
  undisturbed: [({ session }) => [session.seal(request)]],
  altered: places((text, at) => {
    const char = String.fromCharCode(text.charCodeAt(at) ^ 1);
    return text.slice(0, at) + char + text.slice(at + 1);
  }),
  cut: places((text, at) => text.slice(0, at)),
  replayed: [
    ({ session }) => {
      const frame = session.seal(request);
      return [frame, frame];
    },
    async ({ session, hello }) => [session.seal(request), hello],
    async () => {
      const other = await open();
      other.leave();
      return [other.session.seal(request)];
    },
  ],
  reordered: [
    ({ session }) => [session.seal("one"), session.seal("two")].reverse(),
    ({ session }) => {
      const [one = "", , three = ""] = ["one", "two", "three"].map((text) => session.seal(text));
      return [one, three];
    },
  ],
  reflected: [({ reply }) => [reply]],
  spliced: Array.from({ length: 64 }, (_, index): Attack => {
    return async ({ session }) => {
      const ours = sealed(session);
      let theirs = ours;
      while (theirs.at(-1) === ours.at(-1)) theirs = await fromElsewhere(); // With equal last bytes, the splice might be exactly our own frame.
      const at = Math.min(index, ours.length - 1);
      const spliced = Uint8Array.from([...ours.subarray(0, at), ...theirs.subarray(at)]);
      return [JSON.stringify({ e: spliced.toBase64() })];
    };
  }),
};

const list = attacks[kind] ?? [];
const ends: string[] = [];
// The attacks run one after the other, because more would evict each other from the few places before a proof.
for (const attack of list) ends.push(await tryIt(attack));
process.stdout.write(JSON.stringify(ends));
process.exit(0);

function places(change: (text: string, at: number) => string): readonly Attack[] {
  return Array.from({ length: frameLength }, (_, at) => ({ session }: Line) => {
    const frame = session.seal(request);
    const changed = change(frame, Math.min(at, frame.length - 1));
    return changed === frame ? [] : [changed];
  });
}

function sealed(session: SecureSession): Uint8Array {
  return Uint8Array.fromBase64(JSON.parse(session.seal(request)).e);
}

/** The same request as another session seals it. */
async function fromElsewhere(): Promise<Uint8Array> {
  const other = await open();
  other.leave();
  return sealed(other.session);
}

async function tryIt(attack: Attack): Promise<string> {
  const line = await open();
  for (const text of await attack(line)) line.send(text);
  return line.end();
}

/** Opens a session from the next of the addresses, and tries again at a limit. */
async function open(): Promise<Line> {
  const { id, secret } = client;
  for (;;) {
    const started = await startHandshake(id, secret);
    const wire = await openWire(sources[turn++ % sources.length] ?? "");
    wire?.send(started.hello);
    const reply = await wire?.next();
    if (
      wire === undefined ||
      reply === undefined ||
      reply.kind === "closed" ||
      !reply.text.includes('"v":2')
    ) {
      wire?.destroy();
      await Bun.sleep(50);
      continue;
    }
    const session = started.finish(reply.text);
    return {
      session,
      hello: started.hello,
      reply: reply.text,
      send: wire.send,
      leave: wire.destroy,
      async end() {
        let said = "";
        for (;;) {
          const told = await wire.next();
          if (told.kind === "closed") return `${said}, closed ${told.code}`;
          const { error, e } = JSON.parse(told.text);
          if (error !== undefined) said = error.data.reason;
          else if (kind === "undisturbed" && e !== undefined) {
            wire.destroy();
            return "answered";
          }
        }
      },
    };
  }
}

type Told =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "closed"; readonly code: number };

/** Opens a WebSocket by hand, because our own client cannot choose its address; undefined if it was refused. */
async function openWire(localAddress: string) {
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  let kept: Buffer = Buffer.alloc(0);
  let isOver = false;
  let wake = () => {};
  socket.on("data", (bytes: Buffer) => {
    kept = Buffer.concat([kept, bytes]);
    wake();
  });
  for (const event of ["close", "error"])
    socket.on(event, () => {
      isOver = true;
      wake();
    });
  const more = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  const when = async (count: () => number) => {
    while (kept.length < count() && !isOver)
      await within("more bytes", more(), { seen: () => kept.toString("latin1"), msMax: 120_000 });
    return kept.length >= count();
  };
  const take = (count: number) => {
    const taken = kept.subarray(0, count);
    kept = kept.subarray(count);
    return taken;
  };
  socket.write(
    `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("0123456789abcdef")}\r\n\r\n`,
  );
  const headEnd = () => {
    const at = kept.indexOf("\r\n\r\n");
    return at < 0 ? Number.POSITIVE_INFINITY : at + 4;
  };
  if (!(await when(headEnd)) || !take(headEnd()).includes(" 101 ")) {
    socket.destroy();
    return undefined;
  }
  return {
    destroy: () => socket.destroy(),
    send(text: string) {
      const payload = Buffer.from(text);
      const length =
        payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff];
      const [first = 0, ...more] = length;
      socket.write(Buffer.concat([Uint8Array.of(0x81, 0x80 | first, ...more, 0, 0, 0, 0), payload]));
    },
    async next(): Promise<Told> {
      if (!(await when(() => 2))) return { kind: "closed", code: 1006 };
      const [first = 0, second = 0] = take(2);
      let length = second;
      if (second === 126) length = (await when(() => 2)) ? take(2).readUInt16BE() : 0;
      if (!(await when(() => length))) return { kind: "closed", code: 1006 };
      const payload = take(length);
      if (first === 0x88) return { kind: "closed", code: payload.readUInt16BE() };
      return { kind: "text", text: payload.toString("utf8") };
    },
  };
}
