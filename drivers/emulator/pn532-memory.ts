/** What an emulated PN532 remembers until it loses its power, with the values it has then (UM0701-02). */
export interface ChipMemory {
  awake: boolean;
  /** False in the low-battery mode after power-up, which SAMConfiguration ends (7.2.10). */
  configured: boolean;
  baudRate: number;
  /** The rate from the host's next ACK on. */
  nextBaudRate: number | undefined;
  /** MxRtyPassiveActivation: rounds besides the first; 0xFF for ever (7.3.1, item 5). */
  activationRetries: number;
  /** How long the chip waits for a target that says nothing, in milliseconds (7.3.1, item 2). */
  silenceMs: number;
  /** SetParameters (7.2.9). */
  parameters: number;
  /** The status of the last exchange, for GetGeneralStatus. */
  lastError: number;
  readonly registers: Map<number, number>;
}

/** Registers of the contactless unit that matter to what is emulated (PN532/C1 data sheet, 8.6.23). */
export const registerAt = { txMode: 0x6302, rxMode: 0x6303, bitFraming: 0x633d } as const;
/** In TxMode and RxMode: the unit adds and takes off the CRC. */
export const crcEnabled = 0x80;
/** Rx and Tx modes for type A at 106 kbit/s. */
export const typeAMode = 0x80;
/** For FeliCa at 212 kbit/s. */
export const felicaMode = 0x92;
export const automaticRats = 0x10;

const timeoutCodeAtPowerUp = 0x0a;

export function freshMemory(): ChipMemory {
  return {
    awake: false,
    configured: false,
    baudRate: 115_200,
    nextBaudRate: undefined,
    activationRetries: 0xff,
    silenceMs: silenceMsOf(timeoutCodeAtPowerUp),
    parameters: 0x14,
    lastError: 0x00,
    registers: new Map([
      [registerAt.txMode, typeAMode],
      [registerAt.rxMode, typeAMode],
    ]),
  };
}

/** Code n stands for 100 us doubled n - 1 times: 0A is 51.2 ms; 0 for no time-out, which nobody should wait for. */
export function silenceMsOf(timeoutCode: number): number {
  return timeoutCode === 0 ? Number.POSITIVE_INFINITY : 0.1 * 2 ** (Math.min(timeoutCode, 0x10) - 1);
}
