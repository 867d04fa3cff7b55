/**
 * An emulated card of ISO/IEC 14443-4: applications that are selected by name, and the files of the NDEF application (Type
 * 4 Tag 2.0). The chip handles the block protocol, so only command APDUs arrive here.
 */
import { encodeTextMessage } from "../../drivers/protocol/ndef.ts";
import {
  containerFile,
  encodeLength,
  lengthIn,
  ndefApplication,
  paymentList,
} from "../../drivers/protocol/type4-tag.ts";
import { sameBytes } from "./emulated-field.ts";
import { createTypeATag, type EmulatedTag, type TearableTag, type Understood } from "./type-a.ts";

export interface Type4Options {
  /** The UID of 4 or 7 bytes. Four bytes that begin with 08 are random at each selection. */
  readonly uid: Uint8Array;
  readonly text?: string;
  readonly message?: Uint8Array;
  /** The size of the NDEF file in bytes, with its length. */
  readonly fileBytes?: number;
  /** The most bytes of one answer and of one command. */
  readonly readBytesMax?: number;
  readonly writeBytesMax?: number;
  /** The access byte: 00 free, FF read-only, 80 by a key. */
  readonly writeAccess?: number;
  /** The version, 0x20 or 0x30. An extended file has a length of four bytes and needs 0x30. */
  readonly version?: number;
  readonly isExtended?: boolean;
  /** The answer to a command that reads beyond the message, as apps on phones give it; the file's bytes if absent. */
  readonly readsBeyond?: "fewer-bytes" | "wrong-length" | "no-such-offset";
  /** The time until the card answers to the selection of its application, in milliseconds, as on a phone that starts an app. */
  readonly selectMs?: number;
  /** The ATS that is sent at selection, without the length byte. */
  readonly ats?: Uint8Array;
}

const messageFile = 0xe104;
const desfireAts = Uint8Array.of(0x75, 0x77, 0x81, 0x02, 0x80);

/** A DESFire that was formatted as a Type 4 tag; `memory` is its NDEF file. */
export function createType4Tag(options: Type4Options): TearableTag {
  const { uid, fileBytes = 256, isExtended = false } = options;
  const file = new Uint8Array(fileBytes);
  const message =
    options.message ?? (options.text === undefined ? undefined : encodeTextMessage(options.text));
  if (message !== undefined) file.set([...encodeLength(message.length, isExtended ? 4 : 2), ...message]);
  const card = createFiles(file, containerOf(options, fileBytes), options);
  const tag = createTypeATag({
    uid,
    atqa: uid.length === 4 ? 0x0304 : 0x0344,
    sak: 0x20,
    ats: options.ats ?? desfireAts,
    memory: file,
    understand: card.understand,
    forget: card.forget,
  });
  return Object.assign(tag, { tearNextWrite: card.tearNextWrite });
}

/** Makes a card of ISO/IEC 14443-4 without a place for messages. A payment card returns its list of applications. */
export function createCardWithoutMessages(
  uid: Uint8Array,
  ats: Uint8Array,
  { isPayment = false }: { readonly isPayment?: boolean } = {},
): EmulatedTag {
  return createTypeATag({
    uid,
    atqa: uid.length === 4 ? 0x0004 : 0x0344,
    sak: 0x20,
    ats,
    memory: new Uint8Array(),
    understand(command) {
      const asked = command.subarray(5, 5 + (command[4] ?? 0));
      if (command[1] !== 0xa4) return status(0x6d00);
      return isPayment && sameBytes(asked, paymentList) ? answer(Uint8Array.of(0x6f, 0x00)) : status(0x6a82);
    },
  });
}

function containerOf(
  {
    version = 0x20,
    isExtended = false,
    readBytesMax = 59,
    writeBytesMax = 52,
    writeAccess = 0,
  }: Type4Options,
  fileBytes: number,
): Uint8Array {
  const size = encodeLength(fileBytes, isExtended ? 4 : 2);
  const control = [messageFile >> 8, messageFile & 0xff, ...size, 0x00, writeAccess];
  const head = [version, ...encodeLength(readBytesMax, 2), ...encodeLength(writeBytesMax, 2)];
  const body = [...head, isExtended ? 0x06 : 0x04, control.length, ...control];
  return Uint8Array.of(0x00, body.length + 2, ...body);
}

function createFiles(file: Uint8Array, container: Uint8Array, options: Type4Options) {
  const { readBytesMax = 59, writeBytesMax = 52, writeAccess = 0 } = options;
  const { isExtended = false, readsBeyond, selectMs = 0 } = options;
  let isSelected = false;
  let selected: Uint8Array | undefined;
  let tornBytes: number | undefined;

  const select = (how: number, name: Uint8Array): Understood => {
    if (how === 0x04) {
      isSelected = sameBytes(name, ndefApplication);
      selected = undefined;
      return status(isSelected ? 0x9000 : 0x6a82, selectMs);
    }
    const id = (name[0] ?? 0) * 256 + (name[1] ?? 0);
    const files: ReadonlyMap<number, Uint8Array> = new Map([
      [containerFile, container],
      [messageFile, file],
    ]);
    selected = isSelected ? files.get(id) : undefined;
    return status(selected === undefined ? 0x6a82 : 0x9000);
  };
  const read = (offset: number, bytes: number): Understood => {
    if (selected === undefined) return status(0x6985);
    if (bytes > readBytesMax) return status(0x6700);
    if (offset + bytes > selected.length) return status(0x6b00);
    const lengthBytes = isExtended ? 4 : 2;
    const end = lengthBytes + lengthIn(file, lengthBytes);
    if (selected === file && offset + bytes > end && readsBeyond !== undefined)
      return readsBeyond === "fewer-bytes"
        ? answer(file.slice(offset, end))
        : status(readsBeyond === "wrong-length" ? 0x6c00 + Math.max(0, end - offset) : 0x6b00);
    return answer(selected.slice(offset, offset + bytes));
  };
  const update = (offset: number, bytes: Uint8Array): Understood => {
    if (selected !== file || writeAccess !== 0) return status(0x6982);
    if (bytes.length > writeBytesMax) return status(0x6700);
    if (offset + bytes.length > file.length) return status(0x6a84);
    const torn = tornBytes;
    tornBytes = undefined;
    file.set(bytes.subarray(0, torn ?? bytes.length), offset);
    return torn === undefined ? status(0x9000) : { answer: undefined, fall: true };
  };

  return {
    tearNextWrite(bytes: number) {
      tornBytes = bytes;
    },
    forget() {
      isSelected = false;
      selected = undefined;
    },
    understand(command: Uint8Array): Understood {
      const [, code, p1 = 0, p2 = 0, length = 0] = command;
      if (code === 0xa4) return select(p1, command.subarray(5, 5 + length));
      if (code === 0xb0) return read(p1 * 256 + p2, length);
      return code === 0xd6 ? update(p1 * 256 + p2, command.subarray(5, 5 + length)) : status(0x6d00);
    },
  };
}

function answer(data: Uint8Array): Understood {
  return { answer: { kind: "frame", bytes: Uint8Array.of(...data, 0x90, 0x00), hasCrc: true }, fall: false };
}

function status(code: number, workMs = 0): Understood {
  const bytes = Uint8Array.of(code >> 8, code & 0xff);
  return { answer: { kind: "frame", bytes, hasCrc: true, workMs }, fall: false };
}
