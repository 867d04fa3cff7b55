/**
 * What a board shows on its screen while nothing plays: name, address, readers. An image names the terminal in
 * TAPDECK_SCREEN; it is written to only when something changed.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Bus } from "../bus.ts";
import { qrText } from "../cli/qr.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { ownAddresses, ownNames, reachOf } from "../system/addresses.ts";
import { version } from "../system/version.ts";

/** What of a reader is shown. */
export interface ShownReader {
  readonly path: string;
  readonly info: string;
  readonly connected: boolean;
}

export interface Shown {
  readonly name: string;
  /** Of the local network. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly readers: readonly ShownReader[];
}

export interface ScreenOptions {
  /** The terminal; what TAPDECK_SCREEN names where absent. */
  readonly path?: string;
  readonly port: number;
  readonly bus: Bus;
  readonly readers: () => readonly ShownReader[];
  readonly clock: Clock;
  readonly log: Log;
}

// The kernel tells nobody in this process of a new address: looked for as often as a person would look again.
const addressLookMs = 5000;
const addressesShownMax = 2;
const readersShownMax = 4;

/** How a phone is let in. */
export interface ShownPairing {
  readonly link: string;
  /** The link without the code, to be typed. */
  readonly base: string;
  readonly code: string;
}

export interface Screen extends Disposable {
  /** False where the device has none of its own, or one that cannot be written. */
  readonly isThere: boolean;
  /** Takes the place of all else until it is called with undefined. */
  showPairing(pairing: ShownPairing | undefined): void;
}

const noScreen: Screen = { isThere: false, showPairing() {}, [Symbol.dispose]() {} };

/** Keeps the screen up to date until disposed. A screen that cannot be written is told once, and left alone. */
export function followScreen(options: ScreenOptions): Screen {
  const { path = process.env.TAPDECK_SCREEN, bus, clock, log } = options;
  if (path === undefined || path === "") return noScreen;
  let pairing: ShownPairing | undefined;
  let last = "";
  let writing = Promise.resolve();
  let timer: Disposable | undefined;
  let isDisposed = false;
  const show = () => {
    const [name = ""] = ownNames();
    const addresses = ownAddresses().filter(
      (address) => reachOf(address) === "private" && !address.includes(":"),
    );
    const text =
      pairing === undefined
        ? screenText({ name, addresses, port: options.port, readers: options.readers() })
        : pairingText(pairing);
    if (text === last || isDisposed) return;
    last = text;
    writing = writing
      .then(() => write(path, text))
      .catch((error: unknown) => {
        isDisposed = true;
        log.warn("screen", "cannot be written", { path, error: messageOf(error) });
      });
  };
  const lookAgain = () => {
    show();
    timer = isDisposed ? undefined : clock.after(addressLookMs, lookAgain);
  };
  const listening = [bus.on("readers.added", show), bus.on("readers.removed", show)];
  lookAgain();
  return {
    get isThere() {
      return !isDisposed;
    },
    showPairing(now) {
      pairing = now;
      show();
    },
    [Symbol.dispose]() {
      isDisposed = true;
      timer?.[Symbol.dispose]();
      for (const one of listening) one[Symbol.dispose]();
    },
  };
}

/** The whole screen: cleared, and at most 20 lines of 70 columns, which the smallest television shows. */
export function screenText({ name, addresses, port, readers }: Shown): string {
  const places = addresses.slice(0, addressesShownMax).map((address) => `http://${address}:${port}`);
  const shown = readers.filter(({ connected }) => connected).slice(0, readersShownMax);
  const lines = [
    "",
    `  Tapdeck ${version}`,
    "",
    row("Name", `${name}.local`),
    ...(places.length > 0 ? places : ["none yet; a tap needs none"]).map((place) => row("Address", place)),
    ...(shown.length > 0
      ? shown.map(({ info, path }) => row("Reader", `${info}, ${path}: put a card on it`))
      : [row("Reader", "none found yet: plug one in")]),
    "",
  ];
  return whole(lines);
}

/** The whole screen, too: a line, and the QR code, which takes 19 lines of 37 columns. */
export function pairingText({ link, base, code }: ShownPairing): string {
  const digits = `${code.slice(0, 3)} ${code.slice(3)}`;
  const said = `  Point a phone at it, or type ${digits} at ${base}`.slice(0, lineColumns);
  return whole([said, ...qrText(link).trimEnd().split("\n")]);
}

function whole(lines: readonly string[]): string {
  // Home, then erase to the end (ECMA-48, 8.3.21 and 8.3.39): a screen of another program's is gone too.
  return `\x1b[H\x1b[J${lines.join("\r\n")}`;
}

const labelColumns = 10;
const lineColumns = 70;

function row(label: string, text: string): string {
  // A name that a device or an owner chose must not steer the terminal.
  const plain = text.replace(/[^\x20-\x7e]/g, "?");
  return `  ${label.padEnd(labelColumns)}${plain}`.slice(0, lineColumns);
}

/** Never becomes the program's own terminal, and never waits for one that was stopped. */
async function write(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  try {
    await file.write(text);
  } finally {
    await file.close();
  }
}
