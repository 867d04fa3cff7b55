/** IP addresses as bytes, without a request to the system. */

/** 4 or 16 bytes, without the zone; undefined if the text is no address. */
export function addressBytes(text: string): Uint8Array | undefined {
  const [address = ""] = text.split("%", 1);
  if (!address.includes(":")) return ipv4Bytes(address);
  // The last 32 bits may be written as IPv4 (RFC 4291, 2.2).
  const tail4 = /^(.*:)(\d{1,3}(?:\.\d{1,3}){3})$/.exec(address);
  const last = tail4 === null ? undefined : ipv4Bytes(tail4[2] ?? "");
  if (tail4 !== null && last === undefined) return undefined;
  const groupsText = tail4 === null ? address : `${tail4[1]}0:0`;
  const halves = groupsText.split("::");
  if (halves.length > 2) return undefined;
  const [front = [], back = []] = halves.map(groupsOf);
  const zeros = 8 - front.length - back.length;
  if (halves.length === 2 ? zeros < 1 : zeros !== 0) return undefined;
  const groups = [...front, ...new Array<number>(zeros).fill(0), ...back];
  if (groups.some((group) => Number.isNaN(group))) return undefined;
  const bytes = Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
  if (last !== undefined) bytes.set(last, 12);
  return bytes;
}

/**
 * True for 0.0.0.0 and ::, mapped or not. Linux connects them to loopback, so a page of a foreign site may reach this
 * device by them even if the browser protects 127.0.0.1.
 */
export function isUnspecified(bytes: Uint8Array): boolean {
  const isMapped = bytes.length === 16 && ipv4MappedPrefix.every((byte, index) => bytes[index] === byte);
  return bytes.subarray(isMapped ? ipv4MappedPrefix.length : 0).every((byte) => byte === 0);
}

const ipv4MappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]; // RFC 4291, 2.5.5.2.

function ipv4Bytes(text: string): Uint8Array | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const numbers = text.split(".").map(Number);
  return numbers.some((number) => number > 255) ? undefined : Uint8Array.from(numbers);
}

function groupsOf(text: string): readonly number[] {
  if (text === "") return [];
  return text
    .split(":")
    .map((group) => (/^[0-9a-f]{1,4}$/i.test(group) ? Number.parseInt(group, 16) : Number.NaN));
}
