/**
 * The share of the media folder for PCs, on an emulated board: the image's own scripts and Samba's server, and a real `smbclient` as the
 * PC. Run by `make test-image IMAGE=FILE BOARDS=share`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ShareReport } from "../../src/core/share-shapes.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { type Board, cardBytes, image, isStandIn, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

// With the libraries of Debian's Samba the stand-in would leave too little room in its slot.
const sambaTest = test.skipIf(isStandIn);

const ports = [445, 5357];
const password = "correct horse 'ß\"";
const game = 'Köln & "x" game.sfc'.replaceAll('"', "'");

let folder: string;
let server: ReturnType<typeof Bun.serve>;
let card: Card;
let board: Board;
/** The programs and sockets of a deck that has no share, to be compared with a deck whose share was on and is off again. */
let before: readonly string[];

beforeAll(async () => {
  if (isStandIn) return;
  folder = await mkdtemp(join(tmpdir(), "tapdeck-share-"));
  await writeFile(join(folder, "game.sfc"), "a game from a PC\n");
  await run([
    ...["aarch64-linux-gnu-gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-s"],
    ...[join(root, "test/image/multicast-ask.c"), "-o", join(folder, "multicast-ask")],
  ]);
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(Bun.file(join(folder, "multicast-ask"))),
  });
  card = await makeCard(image, cardBytes);
  await start();
}, 2 * patienceMs);

afterAll(async () => {
  if (isStandIn) return;
  await board[Symbol.asyncDispose]();
  await card[Symbol.asyncDispose]();
  await server.stop(true);
  await rm(folder, { recursive: true, force: true });
}, patienceMs);

/** Sends `question` to a multicast group, and returns the first answer. The guest sends it, because QEMU passes no multicast on. */
async function multicast(group: string, port: number, question: Uint8Array): Promise<string> {
  await board.shell(`wget -q -O /run/ask http://10.0.2.2:${server.port}/ && chmod 755 /run/ask`);
  const bytes = Buffer.from(question).toString("base64");
  const answer = await board.shell(`echo ${bytes} | base64 -d | /run/ask ${group} ${port} | base64 -w 0`);
  return Buffer.from(answer, "base64").toString("latin1");
}

async function start(): Promise<void> {
  board = await startBoard({ card, watchdog: false, ports });
  await board.pong();
}

/** The names of all programs, and the sockets that listen, without the ports that Avahi has by chance. */
async function running(): Promise<readonly string[]> {
  const programs = await board.shell(
    `for pid in /proc/[0-9]*; do [ ! -e $pid/exe ] || tr '\\0' ' ' <$pid/cmdline; echo; done | grep . | cut -d ' ' -f 1-2 | sort`,
  );
  const sockets = await board.shell(
    "netstat -l -n -t -u | awk '/^(tcp|udp)/ {print $1, $4}' | grep -v -E ':(3[2-9]|[456].)...$' | sort",
  );
  // The programs that answer this question are left out, because their number differs, and so are the service's short jobs.
  const own =
    /^(?:sh|-sh|ash|awk|cut|sort|tr|grep|netstat|sleep|\/bin\/sh .*shell|\/usr\/bin\/tapdeck \S+-job)\b/;
  return [...programs.split("\n").filter((line) => !own.test(line)), ...sockets.split("\n")].map((line) =>
    line.trim(),
  );
}

const report = async (): Promise<ShareReport> => JSON.parse(await board.shell("tapdeck call share"));

async function reaches(what: string, holds: (now: ShareReport) => boolean): Promise<ShareReport> {
  let last: ShareReport | undefined;
  try {
    return await until(what, async () => {
      // On a starved board the watchdog may have started the service again, which does not answer at once.
      last = await report().catch(() => undefined);
      return last !== undefined && holds(last) ? last : undefined;
    });
  } catch (error) {
    const seen = await board.shell(
      "logread | tail -n 40; ps; cat /run/share/private/log; netstat -ltun; mount",
    );
    throw new Error(`${JSON.stringify(last)}\n${seen}`, { cause: error });
  }
}

/** The settings of a call, in quotes of the guest's shell. */
const set = (word: string) =>
  board.shell(
    `echo ${Buffer.from(JSON.stringify({ password: word })).toString("base64")} | base64 -d >/run/params && tapdeck call share.set "$(cat /run/params)"; rm /run/params`,
  );

/** smbclient as a user with a password: its exit code, and all that it says. */
function pc(user: string | undefined, command: string, place = "media"): Promise<readonly [number, string]> {
  const who = user === undefined ? ["--no-pass"] : ["--user", user];
  return smbclient(`//127.0.0.1/${place}`, ...who, "--command", command);
}

/** It must not be waited for synchronously, because this process serves the card to the guest. */
async function smbclient(...words: readonly string[]): Promise<readonly [number, string]> {
  const child = Bun.spawn(["smbclient", "--port", String(board.port(445)), "--timeout", "120", ...words], {
    cwd: folder,
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  return [await child.exited, said];
}

sambaTest(
  "a deck whose owner has set no password runs nothing of the share, and no PC reaches it",
  async () => {
    expect(await report()).toEqual({ state: "off", host: "tapdeck" });
    before = await running();
    expect(before.filter((line) => /smbd|samba|share|:445$|:5357$|:3702$/.test(line))).toEqual([]);
    expect(await board.shell("ls -d /run/share /data/state/share 2>/dev/null || true")).toBe("");
    const [code, said] = await pc(`any%${password}`, "ls");
    expect([code, said]).toEqual([1, expect.stringMatching(/NT_STATUS_/)]);
  },
  patienceMs,
);

sambaTest(
  "without and with a wrong password smbclient is refused; with the right one a file is written, indexed and played",
  async () => {
    const begunMs = performance.now();
    await set(password);
    expect(await reaches("the share", ({ state }) => state === "on")).toEqual({
      state: "on",
      host: "tapdeck",
    });
    print("the share is on after", seconds(performance.now() - begunMs));
    const put = `mkdir SNES; cd SNES; put game.sfc "${game}"; ls`;
    for (const [user, refusal] of [
      [undefined, /NT_STATUS_(?:LOGON_FAILURE|ACCESS_DENIED)/],
      ["media%wrong password", /NT_STATUS_LOGON_FAILURE/],
      ["media%", /NT_STATUS_(?:LOGON_FAILURE|ACCESS_DENIED)/],
      ["root%", /NT_STATUS_(?:LOGON_FAILURE|ACCESS_DENIED)/],
      ["tapdeck%tapdeck", /NT_STATUS_LOGON_FAILURE/],
    ] as const) {
      const [code, said] = await pc(user, put);
      expect([user, code, said]).toEqual([user, 1, expect.stringMatching(refusal)]);
    }
    expect(await board.shell("ls /data/tapdeck/media")).toBe("");
    const [code, said] = await pc(`anybody%${password}`, put);
    expect([code, said]).toEqual([0, expect.stringContaining(game)]);
    await board.shell(
      `mkdir -p /data/bin; printf '#!/bin/sh\\ncat "$1" >/run/tapdeck/players/played\\nexec sleep 600\\n' >/data/bin/player; chmod 755 /data/bin /data/bin/player`,
    );
    await board.shell(
      `printf '[[launchers]]\\nid = "stand-in"\\nsystems = ["SNES"]\\ncommand = ["/data/bin/player", "{path}"]\\n' >/data/config/tapdeck/config.toml; chown tapdeck /data/config/tapdeck/config.toml`,
    );
    const path = `/data/tapdeck/media/SNES/${game}`;
    const client = await board.client();
    try {
      // While the index is made, a search is refused.
      const search = () => client.call("media.search", { query: "Köln" }).catch(() => undefined);
      const found = await until("the index", async () => {
        const now = await search();
        return now?.total === 1 ? now : undefined;
      });
      expect(found.results.map((one) => one.name)).toEqual(["Köln & 'x' game"]);
      await client.call("launch", { text: `SNES/${game}` });
      await until(
        "the player",
        async () =>
          (await board.shell("cat /run/tapdeck/players/played 2>/dev/null || true")) === "a game from a PC",
      );
      await client.call("stop");
    } finally {
      client.close();
    }
    // The service and its players are in the group of the file.
    expect(await board.shell(`stat -c '%a %U:%G' "${path}"`)).toBe("664 media:media");
  },
  patienceMs,
);

sambaTest(
  "the share shows nothing but the media folder, and its server is not root",
  async () => {
    const [, list] = await pc(`any%${password}`, "help", "IPC$");
    expect(list).not.toContain("NT_STATUS_ACCESS_DENIED");
    const [, listed] = await smbclient("--list", "//127.0.0.1", "--user", `any%${password}`, "--grepable");
    expect(
      listed.split("\n").filter((line) => line.startsWith("Disk|") || line.startsWith("Printer|")),
    ).toEqual(["Disk|media|Media"]);
    await board.shell(
      "ln -s /etc /data/tapdeck/media/SNES/link; ln -s /data/state /data/tapdeck/media/state",
    );
    for (const command of ["cd SNES/link; ls", "cd state; ls", "get ../../state/share"]) {
      const [, said] = await pc(`any%${password}`, command);
      expect([command, said]).toEqual([command, expect.stringMatching(/NT_STATUS_/)]);
    }
    await board.shell("rm /data/tapdeck/media/SNES/link /data/tapdeck/media/state");
    const status = await board.shell(
      "for pid in $(pidof smbd); do grep -E '^(Uid|Gid|CapEff|NoNewPrivs|Groups)' /proc/$pid/status; done | sort -u",
    );
    expect(
      status
        .replace(/[ \t]+/g, " ")
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual([
      "CapEff: 0000000000000400",
      "Gid: 901 901 901 901",
      "Groups:",
      "NoNewPrivs: 1",
      "Uid: 901 901 901 901",
    ]);
    expect(await board.shell("stat -c '%a %U' /data/state/share /run/share/private")).toBe(
      "600 root\n700 media",
    );
    // The password is nowhere, and the service does not read its hash back.
    expect(
      await board.shell(
        "find /data /run -type f -exec grep -l 'correct horse' {} + 2>/dev/null || true; logread | grep -c 'correct' || true",
      ),
    ).toBe("0");
    expect(await board.shell("tapdeck call settings")).not.toContain("share");
    print(
      "memory of the server",
      await board.shell(
        "for pid in $(pidof smbd samba-dcerpcd rpcd_classic rpcd_winreg); do sed -n 's/^Pss: *//p' /proc/$pid/smaps_rollup; done | awk '{s += $1} END {print s, \"KiB\"}'",
      ),
    );
  },
  patienceMs,
);

sambaTest(
  "Windows and Mac find it: WS-Discovery answers, and Avahi announces it",
  async () => {
    const probe = `<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope" xmlns:w="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:p="http://schemas.xmlsoap.org/ws/2006/02/devprof"><e:Header><w:To>urn:schemas-xmlsoap-org:ws:2005:04:discovery</w:To><w:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</w:Action><w:MessageID>urn:uuid:11111111-2222-4333-8444-555555555555</w:MessageID></e:Header><e:Body><d:Probe><d:Types>p:Device</d:Types></d:Probe></e:Body></e:Envelope>`;
    const answer = await multicast("239.255.255.250", 3702, Buffer.from(probe));
    expect(answer).toContain("ProbeMatches");
    const [, uuid = ""] = /<a:Address>urn:uuid:([0-9a-f-]+)</.exec(answer) ?? [];
    const get = probe
      .replace("ws/2005/04/discovery/Probe", "ws/2004/09/transfer/Get")
      .replace("<d:Probe><d:Types>p:Device</d:Types></d:Probe>", "");
    const metadata = await fetch(`http://127.0.0.1:${board.port(5357)}/${uuid}`, {
      method: "POST",
      body: get,
    });
    expect(await metadata.text()).toContain("<c:Computer>tapdeck/Workgroup:WORKGROUP</c:Computer>");
    // A query from another port than 5353 is answered by unicast (RFC 6762, 6.7).
    const name = ["_smb", "_tcp", "local"].map((part) => String.fromCharCode(part.length) + part).join("");
    const question = Buffer.concat([
      Buffer.from([0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
      Buffer.from(name, "latin1"),
      Buffer.from([0, 0, 12, 0, 1]),
    ]);
    expect(await multicast("224.0.0.251", 5353, question)).toContain("tapdeck");
  },
  patienceMs,
);

sambaTest(
  "a full card gives the PC an error and takes no password, and the deck goes on",
  async () => {
    const free = Number(await board.shell("df -k /data | awk 'NR == 2 {print $4}'"));
    await board.shell(`dd if=/dev/zero of=/data/fill bs=1024 count=${free - 4096} 2>/dev/null; sync`);
    await writeFile(join(folder, "large.sfc"), new Uint8Array(16 * 2 ** 20));
    const [, said] = await pc(`any%${password}`, "put large.sfc");
    expect(said).toContain("NT_STATUS_DISK_FULL");
    expect((await fetch(`${board.origin}/api/ping`).catch(() => undefined)) !== undefined).toBe(true);
    expect(JSON.parse(await board.shell("tapdeck call health")).checks).toContainEqual(
      expect.objectContaining({ ok: false, faults: [expect.objectContaining({ code: "disk-full" })] }),
    );
    // A password that cannot be kept opens nothing.
    await board.shell("dd if=/dev/zero of=/data/rest bs=1024 2>/dev/null || true; sync");
    await set("another password");
    await reaches("the fault", ({ fault }) => fault === "failed");
    expect(await board.shell("ls /data/state/share* 2>/dev/null || true; pidof smbd || true")).toBe("");
    await board.shell("rm -f /data/fill /data/rest /data/tapdeck/media/large.sfc; sync");
    await set(password);
    await reaches("the share again", ({ state }) => state === "on");
    expect(await pc(`any%${password}`, "ls")).toEqual([0, expect.stringContaining("SNES")]);
  },
  3 * patienceMs,
);

sambaTest(
  "a server that ends is started again, one that cannot start is a fault, and a power cut keeps the share",
  async () => {
    const old = (await board.shell("pidof smbd")).split(" ");
    await board.shell("killall -9 smbd");
    await until("another server", async () => {
      const now = await board.shell("pidof smbd || true");
      return now !== "" && !now.split(" ").some((pid) => old.includes(pid));
    });
    await reaches("the share again", ({ state }) => state === "on");
    expect((await pc(`any%${password}`, "ls"))[0]).toBe(0);
    await board.kill();
    card.powerCycle(1);
    await start();
    await reaches("the share after the cut", ({ state }) => state === "on");
    expect(await pc(`any%${password}`, "cd SNES; ls")).toEqual([0, expect.stringContaining(game)]);
    // Another password ends the connections, and the old one opens nothing.
    await set("another password");
    await reaches("the new password", ({ state }) => state === "on");
    expect(await pc(`any%${password}`, "ls")).toEqual([
      1,
      expect.stringContaining("NT_STATUS_LOGON_FAILURE"),
    ]);
    expect((await pc("any%another password", "ls"))[0]).toBe(0);
    await board.shell("mount -o bind /bin/false /usr/sbin/smbd");
    await set("another password");
    await reaches("the fault", ({ fault }) => fault === "failed");
    expect(await board.shell("tapdeck call health")).toContain("share-failed");
    await board.shell("umount /usr/sbin/smbd");
  },
  3 * patienceMs,
);

sambaTest(
  "without its password the share is off, and the deck is as before",
  async () => {
    await board.shell("tapdeck call share.remove");
    await reaches("the end of the share", ({ state, fault }) => state === "off" && fault === undefined);
    await until("the end of all programs", async () => Bun.deepEquals(await running(), before)).catch(
      async () => {
        expect(await running()).toEqual(before);
      },
    );
    expect(
      await board.shell("ls /data/state/share 2>/dev/null || true; grep -c /run/share /proc/mounts || true"),
    ).toBe("0");
    expect(await board.shell("tapdeck call health")).not.toContain("share-failed");
    expect((await pc("any%another password", "ls"))[0]).toBe(1);
  },
  2 * patienceMs,
);
