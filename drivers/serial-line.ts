/**
 * Home-made readers on a serial port: an Arduino or ESP32 looks for cards by itself, and sends its results in lines.
 *
 *   link     115200 baud, 8N1; `?baud=9600` after the path for another rate. The driver sends nothing.
 *   cards    one at a time
 *
 *   line                                  meaning
 *   SCAN <TAB> uid=... <TAB> text=...     this card lies there, until a second passes without this line
 *     ... <TAB> removable=yes             the same; if sent only once, the card stays until `SCAN` or another card
 *     ... <TAB> removable=no              a tap: the reader does not report removal
 *   SCAN                                  nothing lies there any more
 *   any other text                        a tap of a card with this text
 *
 * Existing home-made readers send these lines: most repeat the line while the card is present, and a second of silence
 * is its removal. Others send each card once.
 *
 * Detection skips these readers, because every port may send lines, and opening one restarts many boards. A reader is named
 * in the config, as `serial-line:/dev/ttyACM0`.
 *
 * Quirks:
 * - A board that restarts as its port is opened (ESP32 on DTR) sends its boot messages first: text that is no `SCAN` is
 *   ignored for the first second, and always after the first `SCAN`.
 * - A port may be opened in the middle of a line: the rest of that line is noise, or comes within that second.
 */
import { readerLineBytesMax } from "../src/core/limits.ts";
import { readerFaults } from "../src/core/reader-faults.ts";
import type { Sighting } from "../src/core/token.ts";
import type { Driver, DriverContext, ReaderSession } from "../src/readers/driver.ts";
import { type ByteLink, readerGone } from "./io/links.ts";
import { openSerial } from "./io/serial.ts";
import { createOneCardSession, isSameCard, type OneCard, tapMs } from "./one-card-presence.ts";
import { createLineCutter, type LineCard, parseReaderLine } from "./protocol/card-text.ts";

const usualBaudRate = 115_200;
const silenceMs = 1000;
const bootMs = 1000;
// A card that is reported again within this time after re-plugging counts as a card that was not removed.
const firstMs = 900;
// At the wrong rate every line is noise. A torn line causes noise once only.
const noisyLinesMax = 8;

export const serialLine = {
  id: "serial-line",
  capabilities: ["read", "removable"],
  async open(pathAndOptions, context, signal) {
    const [path = "", query = ""] = pathAndOptions.split("?");
    const baud = new URLSearchParams(query).get("baud");
    const baudRate = baud === null ? usualBaudRate : Number(baud);
    if (!Number.isInteger(baudRate) || baudRate < 1)
      throw readerGone(path, `"${baud}" is no baud rate: write ?baud=115200`);
    signal.throwIfAborted();
    return createSession(await openSerial(path, { baudRate }), baudRate, context);
  },
} as const satisfies Driver;

function createSession(link: ByteLink, baudRate: number, context: DriverContext): ReaderSession {
  const { clock } = context;
  const opened = { path: link.path, openedMs: clock.now() };
  const info = `reader that speaks in lines, ${baudRate} baud`;
  return createOneCardSession({ info, link, clock, firstMs }, (present, over) => {
    link.onBytes(createLineCutter(readerLineBytesMax, createHearing(context, present, over, opened)));
  });
}

interface Opened {
  readonly path: string;
  readonly openedMs: number;
}

/** Takes each line of the reader, and reports its card. */
function createHearing(
  { clock, log }: DriverContext,
  present: OneCard,
  over: AbortSignal,
  { path, openedMs }: Opened,
): (line: Uint8Array) => void {
  let saysScan = false;
  let noisyLines = 0;
  const lay = (sighting: Sighting, ms: number | undefined) => {
    if (!present.lay(sighting, ms))
      log.debug("serial-line", "cards come too fast: one is passed over", { path });
  };
  return (bytes) => {
    if (over.aborted) return;
    const said = bytes.length > readerLineBytesMax ? tooLong : parseReaderLine(bytes);
    if (said.kind === "noise") {
      noisyLines += 1;
      readerFaults.badFrames += 1;
      log.debug("serial-line", "a line is passed over", { path, bytes: bytes.length, why: said.why });
      if (noisyLines === noisyLinesMax)
        log.warn("readers", "the received bytes are no text: is the baud rate the reader's?", { path });
      return;
    }
    noisyLines = 0;
    if (said.kind === "plain") {
      const isChatter = saysScan || clock.now() - openedMs < bootMs;
      if (isChatter) log.debug("serial-line", "a line of the board itself is passed over", { path });
      else lay(sightingOf({ uid: "", text: said.text, removable: false }), tapMs);
      return;
    }
    saysScan = true;
    if (said.kind === "card") lay(sightingOf(said.card), stayMs(said.card, present));
    else if (present.current() !== undefined) present.lift();
  };
}

const tooLong = { kind: "noise", why: "it is too long" } as const;

/** The time for which the card counts as present from now on; undefined if the reader reports the removal. */
function stayMs(card: LineCard, present: OneCard): number | undefined {
  if (card.removable === false) return tapMs;
  const isRepeated = isSameCard(present.current(), sightingOf(card));
  return card.removable === undefined || isRepeated ? silenceMs : undefined;
}

function sightingOf({ uid, text, removable }: LineCard): Sighting {
  const sighting = { type: "Unknown", uid, text, data: "" } as const;
  return removable === false ? { ...sighting, removable } : sighting;
}
