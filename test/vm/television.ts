/**
 * A television on a real kernel's CEC: `cec-follower` of v4l-utils is the television at the input of the kernel's vivid, and the
 * deck has the output. Media wake it, its remote control stops them, and it gets its answers.
 */
import { expect, test } from "bun:test";
import { command, type Deck } from "./deck.ts";
import { film } from "./taps.ts";

const tv = "cec-ctl -d /dev/cec0 --skip-info";

export function testTelevision(deckOf: () => Deck, testMs: number): void {
  test(
    "a start of media wakes the television and takes its picture, and its remote control stops them",
    async () => {
      const deck = deckOf();
      const { guest } = deck;
      expect(deck.log()).toContain("an HDMI CEC adapter is there path=/dev/cec1");
      expect(await guest.ask("cec-ctl -d /dev/cec1 --skip-info --show-topology")).toContain("1.0.0.0");
      await guest.ask(`${tv} --tv --osd-name TV && cec-ctl -d /dev/cec0 --to 4 --standby`);
      await guest.ask("cec-follower -d /dev/cec0 --show-msgs --standby > /tmp/television 2>&1 & sleep 1");
      const shown = () => guest.ask("cat /tmp/television");
      const from = deck.heard();
      await guest.ask(`${command} tap SNES/${film} < /dev/null 2>&1`);
      await deck.tells(from, "media.started", film);
      await deck.waitFor("picture", async () => (await shown()).includes("ACTIVE_SOURCE"));
      expect(await shown()).toContain("IMAGE_VIEW_ON");
      expect(await guest.ask(`${tv} --to 4 --give-osd-name`)).toContain("name: Tapdeck");
      expect(await guest.ask(`${tv} --to 4 --give-device-power-status`)).toContain("pwr-state: on");
      expect(await guest.ask(`${tv} --to 15 --request-active-source --timeout 2000`)).toContain("1.0.0.0");
      await guest.ask(`${tv} --to 4 --user-control-pressed ui-cmd=stop --user-control-released`);
      await deck.tells(from, "media.stopped", film);
    },
    testMs,
  );

  test(
    "a key of the remote control that the settings name runs its script, as a button of the case",
    async () => {
      const deck = deckOf();
      expect(deck.log()).toContain("an input device is heard");
      const from = deck.heard();
      await deck.guest.ask(`${tv} --to 4 --user-control-pressed ui-cmd=f2-red --user-control-released`);
      await deck.tells(from, "media.started", "one.card");
    },
    testMs,
  );
}
