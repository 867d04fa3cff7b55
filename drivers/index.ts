/**
 * Every driver, one line each. The conformance suite runs over this list. The file also exports the kernel calls that
 * only `main.ts` may use: virtual devices, watches on folders, the television, the console, core dumps, local sockets.
 */
import type { Driver } from "../src/readers/driver.ts";
import { acr122uUsb } from "./acr122u-usb.ts";
import { file } from "./file.ts";
import { hidKeyboard } from "./hid-keyboard.ts";
import { mfrc522Spi } from "./mfrc522-spi.ts";
import { pn532I2c, pn532Spi } from "./pn532-bus.ts";
import { pn532Uart } from "./pn532-uart.ts";
import { serialLine } from "./serial-line.ts";
import { simulated } from "./simulated.ts";
import { toypad } from "./toypad.ts";

export const drivers: readonly Driver[] = [
  pn532Uart,
  pn532I2c,
  pn532Spi,
  mfrc522Spi,
  acr122uUsb,
  serialLine,
  hidKeyboard,
  toypad,
  file,
  simulated,
];

export { openCec } from "./io/cec.ts";
export { openInotify } from "./io/inotify.ts";
export { forbidCoreDumps, setConsole } from "./io/kernel-controls.ts";
export { localSockets } from "./io/local-sockets.ts";
export { openMenuKeys } from "./io/menu-keys.ts";
export { openButtons } from "./io/pressed-keys.ts";
export { releaseCode } from "./io/program-code.ts";
export { openUinput } from "./io/uinput.ts";
