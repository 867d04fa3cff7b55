/**
 * Debian's pcscd with a virtual reader (vsmartcard-vpcd) that hands its APDUs to a card of ours over TCP, on 127.0.0.1.
 * Its socket is in a separate mount namespace, so a pcscd of this machine is not affected. Needs root, for the namespace.
 *
 *   vpcd sends       length(2, big-endian) then an APDU; or one byte: 0 power off, 1 power on, 2 reset, 4 a request for the ATR
 *   the card sends   length(2) then the answer; to 4 the ATR; to the others nothing
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TCPSocketListener } from "bun";
import { eventuallyExists } from "./processes.ts";

export const canRunPcscd =
  process.getuid?.() === 0 &&
  Bun.which("scriptor") !== null &&
  Bun.file("/usr/lib/pcsc/drivers/serial/libifdvpcd.so").size > 0;

export interface VirtualCard {
  readonly atr: Uint8Array;
  run(apdu: Uint8Array): Uint8Array;
}

export interface VirtualReader extends AsyncDisposable {
  /** Sends these APDUs by way of pcscd and libpcsclite, and resolves with the answers. */
  send(apdus: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /** The card's name in PC/SC's own tools, with its ATR. */
  describe(): Promise<string>;
}

const wantsAtr = 4;
const unused: VirtualCard = { atr: Uint8Array.of(0x3b, 0x00), run: () => Uint8Array.of(0x6f, 0x00) };

export async function startVirtualReader(card: VirtualCard): Promise<VirtualReader> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-pcscd-"));
  const servers = twoServers(card);
  const port = servers[0].port;
  await writeFile(
    join(folder, "reader.conf"),
    `FRIENDLYNAME "Tapdeck test"\nDEVICENAME 127.0.0.1:${port}\nLIBPATH /usr/lib/pcsc/drivers/serial/libifdvpcd.so\nCHANNELID ${port}\n`,
  );
  const daemon = Bun.spawn(
    [
      ...["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c"],
      'mkdir -p /run/pcscd && mount -t tmpfs none /run/pcscd && exec pcscd --foreground --config "$1"',
      ...["sh", join(folder, "reader.conf")],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const socketPath = `/proc/${daemon.pid}/root/run/pcscd/pcscd.comm`;
  const ask = async (command: readonly string[], input: string) => {
    const child = Bun.spawn(["nsenter", `--mount=/proc/${daemon.pid}/ns/mnt`, ...command], {
      stdin: new TextEncoder().encode(input),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [said, complained] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}:\n${said}${complained}`);
    return said;
  };
  await eventuallyExists(socketPath);
  const reader = "Tapdeck test 00 00";
  return {
    async send(apdus) {
      const lines = apdus.map((apdu) => apdu.toHex());
      const said = await ask(["scriptor", "-r", reader], `${lines.join("\n")}\n`);
      // An answer takes several lines, up to the word with its status.
      return [...said.matchAll(/^< ((?:[0-9A-F]{2}\s+)+):/gm)].map(([, hex = ""]) =>
        Uint8Array.fromHex(hex.replaceAll(/\s/g, "")),
      );
    },
    describe: () => ask(["sh", "-c", "timeout 60 pcsc_scan -n -c 2>&1 || true"], ""),
    async [Symbol.asyncDispose]() {
      daemon.kill();
      await daemon.exited;
      for (const server of servers) server.stop(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** vpcd has two slots on two adjacent ports, and crashes if one of them has no client. */
function twoServers(card: VirtualCard): readonly [TCPSocketListener, TCPSocketListener] {
  for (let tries = 0; ; tries++) {
    const first = listen(0, card);
    try {
      return [first, listen(first.port + 1, unused)];
    } catch (error) {
      first.stop(true);
      if (tries === 10) throw error;
    }
  }
}

function listen(port: number, card: VirtualCard): TCPSocketListener {
  let received: Uint8Array = new Uint8Array();
  return Bun.listen({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(socket, bytes) {
        received = Uint8Array.of(...received, ...bytes);
        while (received.length >= 2) {
          const end = 2 + (received[0] ?? 0) * 256 + (received[1] ?? 0);
          if (received.length < end) return;
          const message = received.slice(2, end);
          received = received.subarray(end);
          const isControl = message.length === 1;
          if (isControl && message[0] !== wantsAtr) continue;
          const answer = isControl ? card.atr : card.run(message);
          socket.write(Uint8Array.of(answer.length >> 8, answer.length & 0xff, ...answer));
        }
      },
    },
  });
}
