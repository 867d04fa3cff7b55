/**
 * Bluetooth on the image. The service may not pair: root's scripts do (`overlay/usr/lib/tapdeck/bluetooth`), asked by the pipe of
 * `machine`, and report in the folder that TAPDECK_MACHINE names:
 *
 *   bluetooth           lines of `key=value`: state, and of the last act the address, the fault, and the code that a keyboard has to
 *                       type
 *   bluetooth-devices   a device a line: address, kind, `known` or `found`, `connected` or `away`, and its name as hex digits
 *
 * The keys of the devices stay with root.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { watchFolder } from "../config/watch-files.ts";
import {
  type BluetoothReport,
  type BluetoothState,
  bluetoothKinds,
  bluetoothState,
} from "../core/bluetooth-shapes.ts";
import { bluetoothNameCharsMax, bluetoothReportBytesMax } from "../core/console-limits.ts";
import { coded, failed, ServiceError } from "../core/errors.ts";
import { ask } from "../system/update-engine.ts";

interface BluetoothParts {
  /** The folder of the reports; empty if this is not the image. */
  readonly folder: string;
  /** The descriptor of the pipe. */
  readonly pipe: number;
  readonly onChanged?: () => void;
}

export type Bluetooth = ReturnType<typeof followBluetooth>;

interface Choice {
  readonly address: string;
}

/** Follows the reports until closed. A machine that is not the image has no Bluetooth that the service controls. */
export function followBluetooth({ folder, pipe, onChanged = () => {} }: BluetoothParts) {
  let seen = readReports(folder);
  const order = async (...words: readonly string[]) => {
    if (folder === "")
      throw coded(
        "bluetooth-elsewhere",
        failed("only Tapdeck's own image sets up Bluetooth: use the settings of this system"),
      );
    if (seen.state === "none")
      throw coded("bluetooth-no-radio", failed("this device has no Bluetooth radio"));
    await ask(pipe, ["bluetooth", ...words].join(" "));
  };
  const change = async (word: "pair" | "forget", { address }: Choice) => {
    const among = word === "pair" ? [...seen.found, ...seen.known] : seen.known;
    if (folder !== "" && seen.state !== "none" && !among.some((one) => one.address === address))
      throw coded(
        "bluetooth-unknown",
        new ServiceError("not-found", "`bluetooth` has no such device: search for it"),
      );
    await order(word, address);
  };
  const look = () => {
    const now = readReports(folder);
    if (Bun.deepEquals(now, seen)) return;
    seen = now;
    if (!isStarting) onChanged();
  };
  // The watch reads the files once at its beginning, when the other parts do not exist yet.
  let isStarting = true;
  const watching = folder === "" ? undefined : watchFolder(folder, look);
  isStarting = false;
  return {
    report: () => seen,
    search: () => order("search"),
    pair: (device: Choice) => change("pair", device),
    forget: (device: Choice) => change("forget", device),
    close: () => watching?.[Symbol.dispose](),
  };
}

function readReports(folder: string): BluetoothReport {
  const text = (name: string) => {
    const path = join(folder, name);
    if (folder === "" || !existsSync(path)) return "";
    try {
      return readFileSync(path, "latin1").slice(0, bluetoothReportBytesMax);
    } catch {
      return ""; // The script replaces the file at this moment, and the watch reports the new one.
    }
  };
  return { ...bluetoothStateIn(text("bluetooth")), ...bluetoothDevicesIn(text("bluetooth-devices")) };
}

/** The state in the lines of the script; `none` without them. */
export function bluetoothStateIn(text: string): BluetoothState {
  const facts = new Map<string, string>();
  for (const [, key = "", value = ""] of text.matchAll(/^(\w+)=(.*)$/gm)) facts.set(key, value);
  const { state, address, fault, code } = Object.fromEntries(facts);
  const read = v.safeParse(bluetoothState, {
    state,
    ...(address === undefined ? {} : { address }),
    ...(fault === undefined ? {} : { fault }),
    ...(code === undefined ? {} : { code }),
  });
  return read.success ? read.output : { state: "none" };
}

/**
 * The devices in the lines of the script, first by kind and then by name. A line that is cut off, or of another version,
 * is left out.
 */
export function bluetoothDevicesIn(text: string): Pick<BluetoothReport, "known" | "found"> {
  const devices = text.split("\n").flatMap((line) => {
    const [, address, kind, place, link, digits] =
      /^([0-9A-F]{2}(?::[0-9A-F]{2}){5}) (\w+) (known|found) (connected|away) ((?:[0-9a-f]{2})+)$/.exec(
        line,
      ) ?? [];
    const ofKind = bluetoothKinds.find((one) => one === kind);
    if (address === undefined || digits === undefined || ofKind === undefined) return [];
    return [
      {
        address,
        name: nameIn(digits),
        kind: ofKind,
        isKnown: place === "known",
        connected: link === "connected",
      },
    ];
  });
  const sorted = devices.toSorted(
    (a, b) =>
      bluetoothKinds.indexOf(a.kind) - bluetoothKinds.indexOf(b.kind) ||
      a.name.localeCompare(b.name) ||
      a.address.localeCompare(b.address),
  );
  return {
    known: sorted
      .filter(({ isKnown }) => isKnown)
      .map(({ address, name, kind, connected }) => ({ address, name, kind, connected })),
    found: sorted
      .filter(({ isKnown }) => !isKnown)
      .map(({ address, name, kind }) => ({ address, name, kind })),
  };
}

/** A device may be called anything. */
function nameIn(digits: string): string {
  const name = Buffer.from(digits, "hex")
    .toString("utf8")
    .replace(/\p{C}+/gu, " ")
    .trim();
  return [...name].slice(0, bluetoothNameCharsMax).join("");
}
