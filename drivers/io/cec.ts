/**
 * A television by the kernel's HDMI CEC API: /dev/cecN (linux/cec.h; docs.kernel.org, "CEC: Consumer Electronics
 * Control"). The kernel claims the logical address, and answers requests for the name and the version. It passes the
 * keys of the remote control on as those of a keyboard. The rest of the protocol is in
 * `src/services/television-cec.ts`. Layouts and numbers are equal on x86-64 and arm64.
 */
import { closeSync, constants, openSync } from "node:fs";
import type { OpenTelevision } from "../../src/core/operating-system.ts";
import { ioctl } from "./libc.ts";
import { watchReadable } from "./readiness.ts";

const cecRequests = {
  capabilities: 0xc04c6100, // CEC_ADAP_G_CAPS, struct cec_caps of 76 bytes.
  physicalAddress: 0x80026101, // CEC_ADAP_G_PHYS_ADDR
  logicalAddresses: 0x805c6103, // CEC_ADAP_G_LOG_ADDRS, struct cec_log_addrs of 92 bytes.
  claim: 0xc05c6104, // CEC_ADAP_S_LOG_ADDRS
  transmit: 0xc0386105, // CEC_TRANSMIT, struct cec_msg of 56 bytes.
  receive: 0xc0386106, // CEC_RECEIVE
  mode: 0x40046109, // CEC_S_MODE
} as const;

const capsBytes = 76;
const capabilitiesAt = 68;
const canSetAddresses = 2; // CEC_CAP_LOG_ADDRS
const canTransmit = 4; // CEC_CAP_TRANSMIT
const initiatorAndFollower = 0x11; // CEC_MODE_INITIATOR, CEC_MODE_FOLLOWER
const noAddress = 0xffff; // CEC_PHYS_ADDR_INVALID
const ownSocket = 0;
const unregistered = 0xf;

const claimBytes = 92;
const claimAt = {
  mask: 4,
  version: 6,
  count: 7,
  vendor: 8,
  flags: 12,
  name: 16,
  kind: 31,
  type: 35,
  all: 39,
};
const nameBytesMax = 14;
const playback = { kind: 4, type: 3, all: 0x10 }; // CEC_OP_PRIM_DEVTYPE_PLAYBACK and the like.
const version14 = 5;
const noVendor = 0xffff_ffff;
const unregisteredFallbackAndKeys = 3; // CEC_LOG_ADDRS_FL_ALLOW_UNREG_FALLBACK, CEC_LOG_ADDRS_FL_ALLOW_RC_PASSTHRU

const messageBytes = 56;
const messageAt = { length: 16, bytes: 32, sent: 50 };
const messageLengthMax = 16;

/** A call on an open adapter. It returns false if the kernel refuses. The bytes are read or filled in place. */
export type CecCall = (request: number, argument: Uint8Array) => boolean;

export const openCec: OpenTelevision = (path, name) => {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  } catch {
    // There is no adapter, or this user may not open it.
    return undefined;
  }
  const line = cecLine((request, argument) => ioctl(fd, request, argument), name);
  let listener = () => {};
  const watching = line && watchReadable(fd, () => listener());
  if (line === undefined || watching === undefined) {
    closeSync(fd);
    return undefined;
  }
  return {
    ...line,
    onMessages(told: () => void) {
      listener = told;
    },
    close() {
      watching[Symbol.dispose]();
      closeSync(fd);
    },
  };
};

/** The line of an open adapter; undefined if the adapter cannot send and claim an address, or another program uses it. */
export function cecLine(call: CecCall, name: string) {
  const caps = new Uint8Array(capsBytes);
  const needed = canSetAddresses | canTransmit;
  if (!call(cecRequests.capabilities, caps)) return undefined;
  if ((new DataView(caps.buffer).getUint32(capabilitiesAt, true) & needed) !== needed) return undefined;
  const physicalAddress = () => {
    const bytes = new Uint8Array(2);
    const isKnown = call(cecRequests.physicalAddress, bytes);
    const address = new DataView(bytes.buffer).getUint16(0, true);
    return isKnown && address !== noAddress ? address : undefined;
  };
  // An adapter with this address belongs to an HDMI input of this machine, which then is a television itself.
  if (physicalAddress() === ownSocket) return undefined;
  const mode = new Uint8Array(Uint32Array.of(initiatorAndFollower).buffer);
  if (!call(cecRequests.mode, mode)) return undefined;
  // An earlier run may have left its address, which must be given back before another one is claimed.
  call(cecRequests.claim, new Uint8Array(claimBytes));
  if (!call(cecRequests.claim, encodeClaim(name))) return undefined;
  const ownAddress = () => {
    const claimed = new Uint8Array(claimBytes);
    const isKnown = call(cecRequests.logicalAddresses, claimed);
    const isClaimed = new DataView(claimed.buffer).getUint16(claimAt.mask, true) !== 0;
    return isKnown && isClaimed ? (claimed[0] ?? unregistered) : unregistered;
  };
  return {
    physicalAddress,
    send: (to: number, message: readonly number[]): boolean =>
      call(cecRequests.transmit, encodeMessage([(ownAddress() << 4) | to, ...message])),
    receive(): readonly Uint8Array[] {
      const received: Uint8Array[] = [];
      // One call may also return the outcome of a transmission.
      for (let isMore = true; isMore; ) {
        const message = new Uint8Array(messageBytes);
        isMore = call(cecRequests.receive, message);
        if (isMore && message[messageAt.sent] === 0) received.push(decodeMessage(message));
      }
      return received;
    },
  };
}

function encodeClaim(name: string): Uint8Array {
  const claim = new Uint8Array(claimBytes);
  const view = new DataView(claim.buffer);
  claim[claimAt.version] = version14;
  claim[claimAt.count] = 1;
  view.setUint32(claimAt.vendor, noVendor, true);
  view.setUint32(claimAt.flags, unregisteredFallbackAndKeys, true);
  // The name in ASCII, with at most 14 characters on the wire (HDMI 1.4b, CEC 13.9, "Set OSD Name").
  const ascii = name.replace(/[^\x20-\x7e]/g, "").slice(0, nameBytesMax);
  claim.set(new TextEncoder().encode(ascii), claimAt.name);
  claim[claimAt.kind] = playback.kind;
  claim[claimAt.type] = playback.type;
  claim[claimAt.all] = playback.all;
  return claim;
}

function encodeMessage(bytes: readonly number[]): Uint8Array {
  const message = new Uint8Array(messageBytes);
  new DataView(message.buffer).setUint32(messageAt.length, bytes.length, true);
  message.set(bytes, messageAt.bytes);
  return message;
}

function decodeMessage(message: Uint8Array): Uint8Array {
  const length = new DataView(message.buffer).getUint32(messageAt.length, true);
  return message.slice(messageAt.bytes, messageAt.bytes + Math.min(length, messageLengthMax));
}
