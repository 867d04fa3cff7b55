/** The USB descriptors of an emulated ACR122U: a device and a configuration (USB 2.0, 9.6; CCID 1.1, 5.1). */
function littleEndian(value: number, bytes: number): readonly number[] {
  return Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** index) % 256);
}

const word = (value: number) => littleEndian(value, 2);
const double = (value: number) => littleEndian(value, 4);

/** 18 bytes: USB 1.1, vendor 072f, product 2200, version 2.16, strings 1 and 2, one configuration. */
export const ccidDevice: Uint8Array = Uint8Array.of(
  ...[18, 0x01, ...word(0x0110), 0, 0, 0, 8],
  ...[...word(0x072f), ...word(0x2200), ...word(0x0216), 1, 2, 0, 1],
);

export const ccidStrings: readonly string[] = ["ACS", "ACR122U PICC Interface"];

const interfaceBytes: readonly number[] = [9, 0x04, 0, 0, 3, 0x0b, 0x00, 0x00, 0];

/** 54 bytes: CCID 1.0, one slot, T=0 and T=1, messages of 271 bytes, short APDUs. */
const classBytes: readonly number[] = [
  ...[54, 0x21, ...word(0x0100), 0, 0x07, ...double(3)],
  ...[...double(4000), ...double(4000), 0, ...double(10_752), ...double(344_086), 0],
  ...[...double(247), ...double(0), ...double(0), ...double(0x0002_047e), ...double(271)],
  ...[0, 0, ...word(0), 0, 1],
];

const endpoints: readonly number[] = [
  ...[7, 0x05, 0x81, 0x03, ...word(8), 16],
  ...[7, 0x05, 0x02, 0x02, ...word(64), 0],
  ...[7, 0x05, 0x82, 0x02, ...word(64), 0],
];

const body = [...interfaceBytes, ...classBytes, ...endpoints];

/** Bus-powered, 200 mA, with its one interface: interrupt 81, bulk 02 and 82. */
export const ccidConfiguration: Uint8Array = Uint8Array.of(
  ...[9, 0x02, ...word(9 + body.length), 1, 1, 0, 0x80, 100],
  ...body,
);
