/** The shapes of Bluetooth that the service needs. Only root's scripts on the image pair and remove devices. */
import * as v from "valibot";
import type { ValueOf } from "./shapes.ts";

/** The reason why the last act did not work. `no-radio`: there is a radio, but it does not answer. */
export const bluetoothFaults = ["no-radio", "not-found", "refused", "failed"] as const;
export type BluetoothFault = (typeof bluetoothFaults)[number];

/** The kinds of devices, by the class of the device or by its appearance (Bluetooth Assigned Numbers). */
export const bluetoothKinds = ["controller", "keyboard", "sound", "other"] as const;

const bluetoothAddress = v.pipe(
  v.string(),
  v.regex(
    /^[0-9A-F]{2}(?::[0-9A-F]{2}){5}$/,
    "must be six pairs of hex digits in capital letters, with colons",
  ),
);

const foundDevice = v.object({
  address: bluetoothAddress,
  name: v.string(),
  kind: v.picklist(bluetoothKinds),
});
export type FoundDevice = ValueOf<typeof foundDevice>;

const knownDevice = v.object({ ...foundDevice.entries, connected: v.boolean() });
export type KnownDevice = ValueOf<typeof knownDevice>;

export const bluetoothState = v.object({
  /** `none`: no radio. `off`: nothing runs, because no device was paired and nobody searches. */
  state: v.picklist(["none", "off", "searching", "pairing", "ready"]),
  /** The device of the last act. */
  address: v.exactOptional(bluetoothAddress),
  fault: v.exactOptional(v.picklist(bluetoothFaults)),
  /** The code that a person types on the keyboard that is being paired. */
  code: v.exactOptional(v.pipe(v.string(), v.regex(/^\d{1,16}$/))),
});
export type BluetoothState = ValueOf<typeof bluetoothState>;

/** `known` were paired; `found` were seen by the last search, and can be paired for three minutes. */
export const bluetoothReport = v.object({
  ...bluetoothState.entries,
  known: v.array(knownDevice),
  found: v.array(foundDevice),
});
export type BluetoothReport = ValueOf<typeof bluetoothReport>;

export const bluetoothChoice = v.object({ address: bluetoothAddress });
