/** The image on the Raspberry Pi Zero 2 W as QEMU emulates it, with its real device tree. Run by `make test-image`. */
import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { baudRateCodes, commandCodes } from "../../drivers/protocol/pn532-commands.ts";
import { createPn532Device } from "../emulators/pn532-device.ts";
import { isStandIn, makePlainCard, service, startBoard } from "./board.ts";
import { print, seconds } from "./figures.ts";
import { writeConf } from "./owned.ts";
import { fatStick, fill } from "./stick-images.ts";
import { patienceMs, until } from "./until.ts";

test(
  "a new card boots to a pong at the host, and the reader on the board's own serial port is found",
  async () => {
    await using card = await makePlainCard();
    // The board has no shell to pair a client in, so strangers get the rights of a member.
    await writeConf(card.url, "anonymous=change\n");
    const reader = createPn532Device({ timing: "none" });
    // QEMU's PL011 does not report the rate of the line, so the test sets the rate that the chip gets.
    reader.onCommand((payload) => {
      const rate = [...baudRateCodes].find(
        ([, code]) => payload[1] === commandCodes.setSerialBaudRate && code === payload[2],
      )?.[0];
      if (rate !== undefined) Bun.spawnSync(["stty", "-F", reader.path, String(rate)]);
    });
    try {
      await using board = await startBoard({ card, machine: "zero2w", reader: reader.path });
      print("first start on the Zero 2 W, to the first pong", seconds(await board.pong()));
      const client = await board.client();
      try {
        const connected = await until("the reader", async () =>
          client.call("readers").then(
            ({ readers }) => readers.find((one) => one.connected),
            () => undefined, // The connection was lost, and is restored later.
          ),
        );
        expect(connected).toMatchObject({ driver: "pn532-uart", path: "/dev/ttyAMA0" });
        // QEMU lacks the board's watchdog, so the board must report that it is not guarded. On a busy machine the first
        // service may have been too slow, and was replaced.
        const { checks } = await client.call("health");
        expect(checks.find(({ name }) => name === "watchdog")?.reason).toMatch(
          /nothing resets this machine|^the watchdog started the service again: /,
        );
        expect(checks).toContainEqual({ name: "device", ok: true });
      } finally {
        client.close();
      }
    } finally {
      await reader.close();
    }
  },
  2 * patienceMs,
);

// The stand-in image has the same scripts and programs, which the suites of the other board test.
test.skipIf(isStandIn)(
  "a game on a USB stick is found, and a service that was killed or hangs is replaced, each without a loss",
  async () => {
    await using made = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-zero2w-"));
    made.defer(() => rm(folder, { recursive: true }));
    const games = await fill(join(folder, "games"), ["SNES/Stick Game.sfc"]);
    const stick = await fatStick(join(folder, "stick.img"), "GAMES", games);
    const card = made.use(await makePlainCard());
    const more = [
      ...["-blockdev", `driver=raw,node-name=stick,file.driver=file,file.filename=${stick}`],
      ...["-device", "usb-storage,drive=stick"],
    ];
    const board = made.use(await startBoard({ card, machine: "zero2w", hasShell: true, more }));
    print("first start with a USB stick, to the first pong", seconds(await board.pong()));
    const client = await board.client();
    made.defer(() => client.close());
    const found = await until("the game on the stick", () =>
      client.call("media.search", { query: "stick game" }).then(
        ({ results }) => results[0]?.path,
        () => undefined,
      ),
    );
    expect(found).toBe("SNES/Stick Game.sfc");
    // The service did not use the line of the shell.
    expect(await board.shell("grep -c ' /media/usb/GAMES vfat ro' /proc/mounts")).toBe("1");
    await client.call("mappings.new", {
      enabled: true,
      type: "uid",
      match: "exact",
      pattern: "04aabbcc",
      override: "**delay:1",
    });
    for (const [signal, what] of [
      ["KILL", "was killed"],
      ["STOP", "hung"],
    ]) {
      const before = await board.shell(`echo ${service}`);
      const from = performance.now();
      await board.shell(`kill -${signal} ${before}`);
      await until("another service", async () => {
        const now = await board.shell(`echo ${service}`);
        return now !== "" && now !== before;
      });
      await board.pong();
      print(`the service ${what}, until it answers`, seconds(performance.now() - from));
    }
    const { mappings } = await until("the mapping", () => client.call("mappings").catch(() => undefined));
    expect(mappings).toMatchObject([{ pattern: "04aabbcc" }]);
    // No module failed to load because of a symbol that this kernel lacks.
    expect(await board.shell("dmesg | grep -i 'unknown symbol' || true")).toBe("");
  },
  3 * patienceMs,
);
