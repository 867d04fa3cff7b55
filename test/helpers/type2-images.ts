/** New Type 2 tags of each kind, as a driver reads them before it writes. */
import { containerOf, layoutOf, parseVersion } from "../../drivers/protocol/type2-tag.ts";
import type { Type2Image } from "../../drivers/protocol/type2-write-plan.ts";
import type { Type2Kind } from "../emulators/emulated-tags.ts";

/** The answer to GET_VERSION; absent for the kinds without that command. */
const versions: Readonly<Partial<Record<Type2Kind, string>>> = {
  "ultralight-ev1": "0004030101000b03",
  "ultralight-ev1-128": "0004030101000e03",
  ntag210u: "0004040102000b03",
  ntag213: "0004040201000f03",
  ntag215: "0004040201001103",
  ntag216: "0004040201001303",
};

/** The bytes that a new tag of each kind has from the message block on (the data sheets' user memory). */
export const roomBytes: Readonly<Record<Type2Kind, number>> = {
  ultralight: 48,
  "ultralight-ev1": 48,
  "ultralight-ev1-128": 128,
  // An unformatted Ultralight C reports no size, and counts as an Ultralight.
  "ultralight-c": 48,
  ntag210u: 48,
  ntag213: 139,
  ntag215: 496,
  ntag216: 872,
};

/** The memory as a driver reads it. */
export function imageOf(kind: Type2Kind, memory: Uint8Array): Type2Image {
  const version = parseVersion(Uint8Array.fromHex(versions[kind] ?? ""));
  const container = memory.slice(12, 16);
  const layout = layoutOf(version, container);
  const end = 16 + containerOf(container, layout).areaBytes;
  const page = (at: number | undefined) => (at === undefined ? undefined : memory.slice(at * 4, at * 4 + 4));
  const locks = page(layout.dynamicLock?.page);
  const auth0 = page(layout.configPage)?.[layout.auth0At ?? 3];
  return {
    layout,
    memory: memory.slice(0, end),
    ...(locks === undefined ? {} : { dynamicLocks: locks }),
    ...(auth0 === undefined ? {} : { firstProtectedPage: auth0 }),
  };
}
