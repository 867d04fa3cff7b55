/**
 * NXP PN532 on the I2C or SPI bus of a board, as on many hats and modules: the chip of `pn532-uart.ts` on another link, with
 * the same tags. Such a bus does not show what is on it, so the config names the reader.
 *
 *   pn532-i2c:/dev/i2c-1        switches of the module: I2C
 *   pn532-spi:/dev/spidev0.0    switches of the module: SPI; NSS at CE0
 */
import type { Driver } from "../src/readers/driver.ts";
import { openI2c } from "./io/i2c.ts";
import type { I2cDevice, SpiDevice } from "./io/links.ts";
import { openSpi } from "./io/spi.ts";
import {
  chipOnI2c,
  chipOnSpi,
  i2cAddress,
  type PolledChip,
  polledLink,
  spiHertz,
} from "./pn532/polled-link.ts";
import { openPn532 } from "./pn532-uart.ts";

export const pn532I2c = createPn532I2c((path) => openI2c(path, i2cAddress));
export const pn532Spi = createPn532Spi((path) => openSpi(path, spiHertz));

/** The driver with a given way to open the bus. Tests have their own. */
export function createPn532I2c(open: (path: string) => I2cDevice): Driver {
  return onBus("pn532-i2c", (path) => chipOnI2c(open(path)), "switched to I2C");
}

export function createPn532Spi(open: (path: string) => SpiDevice): Driver {
  return onBus("pn532-spi", (path) => chipOnSpi(open(path)), "switched to SPI");
}

function onBus(id: string, open: (path: string) => PolledChip, switched: string): Driver {
  return {
    id,
    capabilities: ["read", "write", "removable"],
    async open(path, context, signal) {
      signal.throwIfAborted();
      const link = polledLink(path, open(path), context.clock);
      // The rate has no effect here, because it is that of a serial line.
      return openPn532(link, context, signal, {
        baudRate: 115_200,
        advice: `its wiring, and that it is ${switched}`,
      });
    },
  };
}
