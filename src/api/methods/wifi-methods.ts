/** The Wi-Fi of the SD image, as an owner sets it up from a phone. Passwords are written, and never read back. */
import { wifiChoice, wifiReport, wifiRequest } from "../../core/wifi-shapes.ts";
import { method } from "../method.ts";

const changes = () => "the Wi-Fi";

export const wifiMethods = [
  method({
    name: "wifi",
    right: "own",
    docs: "The Wi-Fi of the SD image. The state is `none` on other systems, and on a board without a radio. `network` is the one that was tried last, and `fault` is the reason why it does not work: `wrong-password`, `not-found`, `refused` or `no-address`. With the state `point` the device has an access point of its own for the setup, with its name, password and address. `networks` are those of the last search, and `known` those that were set up here, the best first; `id` is the name of a network as hex digits. The network of `tapdeck.conf` is not among them.",
    result: wifiReport,
    run: ({ wifi }) => wifi.report(),
  }),
  method({
    name: "wifi.search",
    right: "own",
    docs: "Searches for networks, which takes up to 15 seconds; `wifi` then has them. An open access point is closed meanwhile.",
    errors: ["failed"],
    run: ({ wifi }) => wifi.scan(),
  }),
  method({
    name: "wifi.join",
    right: "own",
    docs: "Tries a network, and keeps it as the best one if it gives an address. If it goes away later, another known one takes over. It answers at once; `wifi` has the result within 90 seconds. Meanwhile the device has no other Wi-Fi. If it does not work, the device returns to the networks before.",
    params: wifiRequest,
    changes,
    errors: ["failed"],
    run: ({ wifi }, request) => wifi.join(request),
  }),
  method({
    name: "wifi.prefer",
    right: "own",
    docs: "Makes a known network the best one, from the next start of the device on.",
    params: wifiChoice,
    shorthand: "id",
    changes,
    errors: ["failed", "not-found"],
    run: ({ wifi }, choice) => wifi.prefer(choice),
  }),
  method({
    name: "wifi.forget",
    right: "own",
    docs: "Forgets a known network with its password, and connects to the next one.",
    params: wifiChoice,
    shorthand: "id",
    changes,
    errors: ["failed", "not-found"],
    run: ({ wifi }, choice) => wifi.forget(choice),
  }),
  method({
    name: "wifi.open",
    right: "own",
    docs: "Opens the access point for 30 minutes; the Wi-Fi connection ends. The screen shows its name and password.",
    changes,
    errors: ["failed"],
    run: ({ wifi }) => wifi.open(),
  }),
] as const;
