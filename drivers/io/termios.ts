/**
 * Terminal settings as the kernel keeps them, with any baud rate.
 *
 *   struct termios2, 44 bytes, native byte order (asm-generic/termbits.h):
 *   0 c_iflag  4 c_oflag  8 c_cflag  12 c_lflag  16 c_line  17 c_cc[19]  36 c_ispeed  40 c_ospeed
 *
 * qemu-user 7.2 does not know the termios2 calls; there the old ones serve, for the standard rates only.
 */
import { ioctl, requests } from "./libc.ts";

const bother = 0o010000; // CBAUD value "the rate stands in c_ospeed".
const cbaud = 0o010017;
const raw8n1 = 0o60 | 0o200 | 0o4000; // CS8, CREAD, CLOCAL.
const [vtime, vmin] = [5, 6];

/** CBAUD codes of the rates that every kernel knows (termbits.h). */
const standardRates: ReadonlyMap<number, number> = new Map([
  [9600, 0o15],
  [19_200, 0o16],
  [38_400, 0o17],
  [57_600, 0o10001],
  [115_200, 0o10002],
  [230_400, 0o10003],
  [460_800, 0o10004],
  [921_600, 0o10007],
]);

/** Raw, 8 data bits, no parity, 1 stop bit, no flow control, at `baudRate`; false where the kernel refuses. */
export function setRaw(fd: number, baudRate: number): boolean {
  const termios = new Uint8Array(44);
  const view = new DataView(termios.buffer);
  view.setUint32(8, raw8n1 | bother, true);
  view.setUint32(36, baudRate, true);
  view.setUint32(40, baudRate, true);
  termios[17 + vtime] = 0;
  termios[17 + vmin] = 1;
  if (ioctl(fd, requests.tcsets2, termios)) return true;
  const code = standardRates.get(baudRate);
  if (code === undefined) return false;
  view.setUint32(8, raw8n1 | code, true);
  return ioctl(fd, requests.tcsets, termios);
}

/** The output rate in baud; undefined where the kernel does not tell. */
export function baudRateOf(fd: number): number | undefined {
  const termios = new Uint8Array(44);
  const view = new DataView(termios.buffer);
  if (ioctl(fd, requests.tcgets2, termios)) return view.getUint32(40, true);
  if (!ioctl(fd, requests.tcgets, termios)) return undefined;
  const code = view.getUint32(8, true) & cbaud;
  return [...standardRates].find(([, known]) => known === code)?.[0];
}
