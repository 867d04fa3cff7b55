/** Every driver, one line each. The conformance suite walks this list. */
import type { Driver } from "../src/readers/contract.ts";
import { acr122uUsb } from "./acr122u-usb.ts";
import { pn532Uart } from "./pn532-uart.ts";
import { simulated } from "./simulated.ts";

export const drivers: readonly Driver[] = [pn532Uart, acr122uUsb, simulated];
