/** The status screen as text, for a terminal on a machine without a frame buffer. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { qrText } from "../cli/pair-command.ts";
import type { ShownAct, ShownPairing } from "../screen/picture.ts";
import { english } from "../screen/texts.ts";
import { tapdeckVersion } from "../system/own-program.ts";
import type { ShownReader } from "./screen-facts.ts";

export interface Shown {
  readonly name: string;
  /** The addresses on the local network. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly readers: readonly ShownReader[];
  /** The act of an owner over the network a moment ago; undefined for none. */
  readonly act?: ShownAct | undefined;
}

const addressesShownMax = 2;
const readersShownMax = 4;

/**
 * The text of the whole screen. It clears the screen, and has at most 20 lines of 70 columns, which the smallest
 * television shows.
 */
export function screenText({ name, addresses, port, readers, act }: Shown): string {
  const places = addresses.slice(0, addressesShownMax).map((address) => `http://${address}:${port}`);
  const shown = readers.filter(({ connected }) => connected).slice(0, readersShownMax);
  const lines = [
    "",
    `  Tapdeck ${tapdeckVersion}`,
    "",
    row("Name", `${name}.local`),
    ...(places.length > 0 ? places : ["none yet; a tap needs none"]).map((place) => row("Address", place)),
    ...(shown.length > 0
      ? shown.map(({ info, path }) => row("Reader", `${info}, ${path}: put a card on it`))
      : [row("Reader", "none found yet: plug one in")]),
    ...(act === undefined ? [] : [row("Owner", english.acts[act.act](act.name))]),
    "",
  ];
  return whole(lines);
}

/** The text of the whole screen for a pairing: a line, and the QR code, which takes 19 lines of 37 columns. */
export function pairingText({ link, base, code }: ShownPairing): string {
  const digits = `${code.slice(0, 3)} ${code.slice(3)}`;
  const said = `  Point a phone at it, or type ${digits} at ${base}`.slice(0, lineColumns);
  return whole([said, ...qrText(link).trimEnd().split("\n")]);
}

function whole(lines: readonly string[]): string {
  // The cursor goes to the first place, and everything after it is erased (ECMA-48, 8.3.21 and 8.3.39), so the screen of
  // another program also disappears.
  return `\x1b[H\x1b[J${lines.join("\r\n")}`;
}

const labelColumns = 10;
const lineColumns = 70;

function row(label: string, text: string): string {
  // A name that a device or an owner chose must not control the terminal.
  const plain = text.replace(/[^\x20-\x7e]/g, "?");
  return `  ${label.padEnd(labelColumns)}${plain}`.slice(0, lineColumns);
}

/**
 * Writes the whole screen. The terminal does not become the controlling terminal of this program, and a stopped
 * terminal delays nothing.
 */
export async function writeTerminal(path: string, text: string): Promise<void> {
  await using file = await open(path, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  await file.write(text);
}
