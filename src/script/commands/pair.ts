/** `**pair`: lets a phone in by what the device's screen shows. */
import type { ScriptCommand } from "../command.ts";

export const pair: ScriptCommand = {
  names: ["pair"],
  argsMin: 0,
  argsMax: 0,
  args: "",
  options: {},
  startsMedia: false,
  allowedUntrusted: false,
  needsReader: true,
  docs: "Shows a QR code and six digits on the screen of Tapdeck's own image for ten minutes: whoever points a phone at it, or types the digits on the device's page, can use the device from there. A card for those without a keyboard; elsewhere, `tapdeck pair` does it. It works from a card on a reader of the device only: no call of the API starts it, and no simulated reader.",
  example: "**pair",
  run: (_call, ports) => ports.pair(),
};
