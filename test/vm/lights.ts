/** Two lights of a case in a real kernel's class of LEDs (`case-lights.c`). */
import { expect, test } from "bun:test";
import { command, type Deck } from "./deck.ts";
import { film } from "./taps.ts";

const lamp = "/sys/class/leds/tapdeck:rgb:status";

export function testLights(deckOf: () => Deck, testMs: number): void {
  test(
    "the lights of the case are green, dim while something plays, and blink in red after a card that does not start",
    async () => {
      const deck = deckOf();
      const { guest } = deck;
      expect(deck.log()).toContain('show the state lights="tapdeck tapdeck:rgb:status"');
      const files = ["/sys/class/leds/tapdeck/brightness", `${lamp}/brightness`, `${lamp}/multi_intensity`];
      const shows = (brightness: number, color: string) =>
        deck.waitFor(`light ${brightness} ${color}`, async () => {
          const shown = await guest.ask(`cat ${files.join(" ")}`);
          return shown === [brightness, brightness, color].join("\n");
        });
      await guest.ask(`${command} tap '**stop' < /dev/null 2>&1`);
      await shows(255, "255 0 0");
      const from = deck.heard();
      await guest.ask(`${command} tap SNES/${film} < /dev/null 2>&1`);
      await deck.tells(from, "media.started", film);
      await shows(26, "255 0 0");
      await guest.ask(`${command} tap '**stop' < /dev/null 2>&1`);
      await deck.tells(from, "media.stopped", film);
      await shows(255, "255 0 0");
      await guest.ask(`${command} tap SNES/missing.sfc < /dev/null 2>&1 || true`);
      await shows(0, "0 255 0");
      await shows(255, "0 255 0");
      await shows(255, "255 0 0");
    },
    testMs,
  );
}
