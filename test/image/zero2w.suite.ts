/** The image on the Raspberry Pi Zero 2 W as QEMU emulates it, with its real device tree. Run by `make test-image`. */
import { expect, test } from "bun:test";
import { baudRateCodes, commandCodes } from "../../drivers/protocol/pn532-commands.ts";
import { createPn532Device } from "../emulators/pn532-device.ts";
import { makePlainCard, startBoard } from "./board.ts";
import { print, seconds } from "./figures.ts";
import { writeConf } from "./owned.ts";
import { patienceMs, until } from "./until.ts";

test(
  "a new card boots to a pong at the host, and the reader on the board's own serial port is found",
  async () => {
    await using card = await makePlainCard();
    // The board has no shell to pair a client in, so strangers get the rights of a member.
    await writeConf(card.url, "anonymous=change\n");
    const reader = createPn532Device({ timing: "none" });
    // QEMU's PL011 does not pass the line's rate on, so the test sets the rate that the chip gets.
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
            () => undefined, // The connection was lost, and comes back.
          ),
        );
        expect(connected).toMatchObject({ driver: "pn532-uart", path: "/dev/ttyAMA0" });
        // QEMU lacks its watchdog, so the board must report that it is unguarded. On a busy machine the first service may
        // have been too slow, and was replaced.
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
