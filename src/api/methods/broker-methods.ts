/** The MQTT broker, as an owner sets it from a phone. Its password is written, and never read back. */
import * as v from "valibot";
import { mqttFileBytesMax, mqttPasswordCharsMax, settingsTextCharsMax } from "../../core/limits.ts";
import { fault } from "../device-schemas.ts";
import { method } from "../method.ts";
import { role } from "../schemas.ts";

const text = v.optional(v.pipe(v.string(), v.maxLength(settingsTextCharsMax)));
const result = { fault: v.exactOptional(fault), reason: v.exactOptional(v.string()) };

export const brokerMethods = [
  method({
    name: "broker",
    right: "own",
    docs: "The MQTT broker of the settings (docs/MQTT.md), without the password. With an empty `url` the device uses no broker. `fault` is the reason why it is not connected, with a sentence as `reason`. With `isSetByImage`, `tapdeck.conf` names it, and `broker.update` is refused.",
    result: v.object({
      url: v.string(),
      user: v.string(),
      hasPassword: v.boolean(),
      hasCa: v.boolean(),
      discovery: v.string(),
      role: v.string(),
      id: v.string(),
      isSetByImage: v.boolean(),
      connected: v.boolean(),
      ...result,
    }),
    run: ({ broker }) => broker.facts(),
  }),
  method({
    name: "broker.update",
    right: "own",
    docs: "Changes the broker, at once and in the config file; the device connects again. `password` goes into the file `mqtt-password` of the data folder, and `ca`, certificates in PEM, into `mqtt-ca.pem`; an empty text removes them. An invalid value changes nothing.",
    params: v.object({
      url: text,
      user: text,
      password: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(mqttPasswordCharsMax),
          v.regex(/^[^\r\n]*$/, "it has more than one line"),
        ),
      ),
      ca: v.optional(v.pipe(v.string(), v.maxLength(mqttFileBytesMax))),
      discovery: text,
      role: v.optional(role),
      id: text,
    }),
    changes: (params) => Object.keys(params).join(" "),
    errors: ["conflict", "failed"],
    run: ({ broker }, changes) => broker.update(changes),
  }),
  method({
    name: "broker.test",
    right: "own",
    docs: "Connects to the broker of the settings once more, with the client id of the device and `-test`, and returns within ten seconds whether it was let in, else why not.",
    isLong: true,
    result: v.object({ connected: v.boolean(), ...result }),
    errors: ["failed"],
    run: ({ broker }) => broker.test(),
  }),
] as const;
