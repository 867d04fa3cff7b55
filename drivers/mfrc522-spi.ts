/**
 * NXP MFRC522 on the SPI bus of a board: the blue "RC522" modules, some hats, and their copies. Such a bus does not show
 * what is on it, so the config names the reader.
 *
 *   link       mode 0 at 4 MHz; SDA of the module (NSS) at CE0 is /dev/spidev0.0. RST must not be low; IRQ is not used.
 *              `?gain=33` after the path sets the receiver to 18, 23, 33, 38, 43 or 48 dB; it is 43 otherwise
 *   tags       ISO/IEC 14443 type A, one at a time; each kind is in drivers/tags
 *
 *   family                          read              removal   write
 *   NTAG213/215/216                 NDEF, memory      yes       NDEF
 *   Ultralight, C, EV1              NDEF, memory      yes       NDEF, formats
 *   MIFARE Classic, Mini, 1K, 4K    NDEF by MAD       yes       NDEF, formats; public keys only
 *   DESFire, other ISO 14443-4      NDEF of Type 4    yes       NDEF, if it has an NDEF file
 *   FeliCa                          no                -         no: the chip has type A only
 *   amiibo, LEGO Dimensions         which figure      yes       no
 *   payment, transit, phones        UID               yes       no
 *
 * Quirks:
 * - The chip waits for nothing by itself: the driver looks for a tag every 50 ms, and asks the chip at each look whether it lives.
 * - Copies report other versions (88, B2 and more; the data sheet knows 91 and 92, 9.3.4.8) and work in the same way. The version
 *   does not decide. A chip whose registers do not keep a value is refused.
 * - Some bad copies answer on SPI but detect no tag. That looks like a reader without a tag.
 * - A MIFARE Classic falls silent at a wrong key and must be selected again (MF1S50YYX, 10.1).
 * - A plain Ultralight stops listening at GET_VERSION (MF0ICU1, 7.3) and must be selected again.
 */
import { sleep } from "../src/core/clock.ts";
import type { Driver, DriverContext, ReaderSession } from "../src/readers/driver.ts";
import { readerGone, type SpiDevice } from "./io/links.ts";
import { openSpi } from "./io/spi.ts";
import { createMfrc522, gainCodes, type Mfrc522 } from "./mfrc522/mfrc522-chip.ts";
import { mfrc522Field } from "./mfrc522/mfrc522-field.ts";
import { createFieldSession } from "./tags/field-session.ts";

const clockHertz = 4_000_000; // The chip takes up to 10 MHz (8.1.2), but loose wires do not.
// The chip begins with 33 dB. The antennas of modules are small, and the answers of tags are weak.
const defaultGain = "43";
const guardMs = 6; // The same time as `guardMs` of mfrc522-field.ts.

export const mfrc522Spi = createMfrc522Spi((path) => openSpi(path, clockHertz));

/** The driver with a given way to open the bus. Tests have their own. */
export function createMfrc522Spi(open: (path: string) => SpiDevice): Driver {
  return {
    id: "mfrc522-spi",
    capabilities: ["read", "write", "removable"],
    async open(pathAndOptions, context, signal) {
      const [path = "", query = ""] = pathAndOptions.split("?");
      const wanted = new URLSearchParams(query).get("gain") ?? defaultGain;
      const gain = gainCodes.get(wanted);
      if (gain === undefined) {
        const gains = [...gainCodes.keys()].join(", ");
        throw readerGone(path, `an MFRC522 has no gain of "${wanted}" dB: use one of ${gains}`);
      }
      signal.throwIfAborted();
      const chip = createMfrc522(open(path), path, context.clock);
      try {
        return await openMfrc522(chip, gain, context, signal);
      } catch (error) {
        chip.close();
        throw error;
      }
    },
  };
}

async function openMfrc522(
  chip: Mfrc522,
  gain: number,
  context: DriverContext,
  signal: AbortSignal,
): Promise<ReaderSession> {
  const { clock } = context;
  const version = await chip.reset(signal);
  signal.throwIfAborted();
  if (version === nothingLow || version === nothingHigh) throw readerGone(chip.path, noChip);
  if (!chip.keepsValues()) {
    const seen = version.toString(16).padStart(2, "0");
    throw readerGone(
      chip.path,
      `the chip that answers there is not an MFRC522, or its wires are loose: its version reads as ${seen}, and its registers keep no value`,
    );
  }
  chip.configure(gain);
  chip.switchField(true);
  await sleep(clock, guardMs, signal);
  return createFieldSession(
    {
      info: nameOf(version),
      field: mfrc522Field(chip, version, clock),
      closedError: () => readerGone(chip.path, "it was closed"),
      async close() {
        try {
          chip.switchField(false);
        } catch {
          // The chip may be gone, and its field is then off.
        }
        chip.close();
      },
    },
    context,
  );
}

// A line that no chip drives reads as zeros or ones.
const nothingLow = 0x00;
const nothingHigh = 0xff;
const noChip =
  "no MFRC522 answers: check its power of 3.3 V, its wiring (SDA to CE0, pin 24), and that nothing holds RST low";

/**
 * The name by VersionReg: a high half of 9 is the MFRC522, and the low half is the version (9.3.4.8). Copies have any
 * value.
 */
function nameOf(version: number): string {
  if (version >> 4 === 0x9) return `MFRC522 v${version & 0x0f}.0`;
  const copy = copies.get(version) ?? "MFRC522";
  return `${copy} (a copy of the MFRC522, version ${version.toString(16).padStart(2, "0")})`;
}

/**
 * The names of copies, by the version that each reported to other people (github.com/miguelbalboa/rfid, pull request
 * 106).
 */
const copies: ReadonlyMap<number, string> = new Map([
  [0x88, "FM17522"],
  [0xb2, "FM17522"],
]);
