/** Bluetooth on the SD image, as an owner sets it up from a phone. */
import { bluetoothChoice, bluetoothReport } from "../../core/bluetooth-shapes.ts";
import { method } from "../method.ts";

const changes = () => "Bluetooth";

export const bluetoothMethods = [
  method({
    name: "bluetooth",
    right: "own",
    docs: "Bluetooth on the SD image; `none` elsewhere, and on a board without a radio. With `off` nothing of it runs, because no device was paired. `known` are the devices that were paired, and `found` those of the last search; `kind` is `controller`, `keyboard`, `sound` or `other`. `address` is the device of the last act, and `fault` the reason why that did not work: `no-radio` if the radio does not answer, `not-found`, `refused` or `failed`. While a keyboard is paired, `code` has the digits to be typed on it, followed by Enter.",
    result: bluetoothReport,
    run: ({ bluetooth }) => bluetooth.report(),
  }),
  method({
    name: "bluetooth.search",
    right: "own",
    docs: "Searches for devices for half a minute; `bluetooth` has them as they are found. They can be paired for three minutes after that.",
    errors: ["failed"],
    run: ({ bluetooth }) => bluetooth.search(),
  }),
  method({
    name: "bluetooth.pair",
    right: "own",
    docs: "Pairs a device that a search found, and connects it. From then on it connects by itself when it is switched on. It answers at once; `bluetooth` has the result within a minute. A search ends.",
    params: bluetoothChoice,
    shorthand: "address",
    changes,
    errors: ["failed", "not-found"],
    run: ({ bluetooth }, choice) => bluetooth.pair(choice),
  }),
  method({
    name: "bluetooth.forget",
    right: "own",
    docs: "Ends the connection of a known device, and removes its key: it has to be paired again. After the last one, Bluetooth is off.",
    params: bluetoothChoice,
    shorthand: "address",
    changes,
    errors: ["failed", "not-found"],
    run: ({ bluetooth }, choice) => bluetooth.forget(choice),
  }),
] as const;
