/**
 * The inside of an emulated PN532: takes a command's payload, gives its answer, and keeps what the chip keeps: power,
 * configuration, rate, the field and what lies in it (UM0701-02, sections 7.2 and 7.3). Knows nothing of lines.
 */
import { baudRateCodes, chipToHost, commandCodes as code, hostToChip } from "../protocol/pn532-commands.ts";
import { tagCommands } from "../protocol/type2-tag.ts";
import type { EmulatedTag } from "./tags.ts";

/** What the radio side costs, in milliseconds. */
export interface RadioTiming {
  /** One round of looking for a tag where none is. */
  readonly roundMs: number;
  /** REQA, anticollision at two levels, and SELECT. */
  readonly activationMs: number;
  /** Each byte over the air at 106 kbit/s. */
  readonly byteMs: number;
  /** What every exchange costs besides its bytes. */
  readonly exchangeMs: number;
  /** How long the chip waits for a tag that says nothing. */
  readonly silenceMs: number;
}

/**
 * Bytes: 9 bits of 9.44 us each (ISO/IEC 14443-2). Exchange: two frame delays of 91 us (14443-3), start and end of
 * frames, and the chip's own work, together taken as 0.5 ms. Activation: five exchanges. Silence: the default time-out,
 * 51.2 ms (UM0701-02, 7.3.1). Round: REQA with guard time of 5.1 ms (14443-3, 5.1).
 */
export const realRadio: RadioTiming = {
  roundMs: 5.1,
  activationMs: 3,
  byteMs: 0.085,
  exchangeMs: 0.5,
  silenceMs: 51.2,
};
export const instantRadio: RadioTiming = {
  roundMs: 0,
  activationMs: 0,
  byteMs: 0,
  exchangeMs: 0,
  silenceMs: 0,
};

export type Reply =
  /** The answer's payload, ready `afterMs` milliseconds after the command. `sleeps`: the chip does, once it was sent. */
  | {
      readonly kind: "answer";
      readonly payload: Uint8Array;
      readonly afterMs: number;
      readonly sleeps?: true;
    }
  /** Nothing until a tag comes: ask again when one was put. */
  | { readonly kind: "waiting" }
  | { readonly kind: "syntax-error" };

type Answer = Extract<Reply, { kind: "answer" }>;

export interface EmulatedChip {
  /** As after power-up: asleep, unconfigured, at 115200 baud. What lies in the field stays there. */
  powerUp(): void;
  /** True once the line woke it; a sleeping chip hears nothing else. */
  readonly awake: boolean;
  wake(): void;
  sleep(): void;
  readonly baudRate: number;
  /** The host acknowledged an answer, or aborted a command. */
  hostAck(): void;
  run(payload: Uint8Array): Reply;
  put(tag: EmulatedTag): void;
  /** Takes this tag, or all, out of the field. */
  take(tag?: EmulatedTag): void;
}

const tagsInFieldMax = 2;
const status = { ok: 0x00, timeout: 0x01, crc: 0x02, wrongContext: 0x27 } as const;

export function createEmulatedChip(radio: RadioTiming): EmulatedChip {
  let awake = false;
  let configured = false;
  let baudRate = 115_200;
  let nextBaudRate: number | undefined;
  let retries = 0xff;
  let field: readonly EmulatedTag[] = [];
  let selected: readonly EmulatedTag[] = [];
  const registers = new Map<number, number>();

  const answer = (command: number, data: ArrayLike<number> = [], afterMs = 0): Answer => ({
    kind: "answer",
    payload: Uint8Array.of(chipToHost, command + 1, ...Array.from(data)),
    afterMs,
  });
  const listTargets = (command: number, [targetsMax = 1, modulation = 0]: Uint8Array): Reply => {
    selected = [];
    const found = modulation === 0 && configured ? field.slice(0, Math.min(targetsMax, tagsInFieldMax)) : [];
    if (found.length === 0) {
      if (retries === 0xff && modulation === 0) return { kind: "waiting" };
      return answer(command, [0], radio.roundMs * (modulation === 0 ? retries + 1 : 1));
    }
    selected = found;
    for (const tag of found) tag.select();
    const targets = found.flatMap((tag, index) => [index + 1, ...targetData(tag)]);
    return answer(command, [found.length, ...targets], radio.activationMs * found.length);
  };
  const exchange = (command: number, target: number, data: Uint8Array): Reply => {
    const tag = selected[target - 1];
    if (tag === undefined) return answer(command, [status.wrongContext]);
    const said = field.includes(tag) ? hand(tag, command, data) : undefined;
    if (said === undefined) return answer(command, [status.timeout], radio.silenceMs);
    if (said === "ack")
      return answer(
        command,
        command === code.inCommunicateThru ? [status.ok, 0x0a] : [status.ok],
        radio.exchangeMs,
      );
    if (said === "nak") return answer(command, [status.crc], radio.exchangeMs);
    const airBytes = data.length + said.length + 4; // Two CRCs.
    return answer(command, [status.ok, ...said], radio.exchangeMs + airBytes * radio.byteMs);
  };
  const configureRf = ([item = 0, , , activation = 0xff]: Uint8Array) => {
    if (item === 0x05) retries = activation;
  };
  const changeRate = (command: number, [wanted = 0xff]: Uint8Array): Reply => {
    const rate = [...baudRateCodes].find(([, known]) => known === wanted)?.[0];
    if (rate === undefined) return { kind: "syntax-error" };
    nextBaudRate = rate;
    return answer(command);
  };

  return {
    powerUp() {
      [awake, configured, baudRate, nextBaudRate, retries, selected] = [
        false,
        false,
        115_200,
        undefined,
        0xff,
        [],
      ];
      registers.clear();
    },
    get awake() {
      return awake;
    },
    wake: () => {
      awake = true;
    },
    sleep: () => {
      awake = false;
    },
    get baudRate() {
      return baudRate;
    },
    hostAck() {
      baudRate = nextBaudRate ?? baudRate;
      nextBaudRate = undefined;
    },
    run(payload) {
      const [direction, command = 0xff] = payload;
      const data = payload.subarray(2);
      if (direction !== hostToChip) return { kind: "syntax-error" };
      switch (command) {
        case code.diagnose:
          return data[0] === 0x00 ? answer(command, data) : answer(command, [0x00]);
        case code.getFirmwareVersion:
          return answer(command, [0x32, 0x01, 0x06, 0x07]);
        case code.getGeneralStatus:
          return answer(command, [0x00, field.length > 0 ? 1 : 0, 0x00, 0x80]);
        case code.readRegister:
          return answer(
            command,
            addressesIn(data, 2).map((address) => registers.get(address) ?? 0),
          );
        case code.writeRegister:
          for (const [index, address] of addressesIn(data, 3).entries())
            registers.set(address, data[index * 3 + 2] ?? 0);
          return answer(command);
        case code.setSerialBaudRate:
          return changeRate(command, data);
        case code.samConfiguration:
          configured = true;
          return answer(command);
        case code.rfConfiguration:
          configureRf(data);
          return answer(command);
        case code.powerDown:
          return { ...answer(command, [status.ok]), sleeps: true };
        case code.setParameters:
          return answer(command);
        case code.inListPassiveTarget:
          return listTargets(command, data);
        case code.inDataExchange:
          return exchange(command, (data[0] ?? 0) & 0x3f, data.subarray(1));
        case code.inCommunicateThru:
          return exchange(command, 1, data);
        case code.inRelease:
        case code.inDeselect:
          selected = [];
          return answer(command, [status.ok]);
        case code.inSelect:
          return answer(command, [selected.length > 0 ? status.ok : status.wrongContext]);
        default:
          return { kind: "syntax-error" };
      }
    },
    put(tag) {
      field = [...field.filter((other) => other !== tag), tag].slice(-tagsInFieldMax);
    },
    take(tag) {
      field = tag === undefined ? [] : field.filter((other) => other !== tag);
    },
  };
}

/** InDataExchange does the two steps of a MIFARE write by itself (UM0701-02, 7.3.8). */
function hand(tag: EmulatedTag, command: number, data: Uint8Array) {
  const isMifareWrite = command === code.inDataExchange && data[0] === tagCommands.compatibilityWrite;
  if (!isMifareWrite) return tag.receive(data);
  const said = tag.receive(data.subarray(0, 2));
  return said === "ack" ? tag.receive(data.subarray(2)) : said;
}

function targetData({ atqa, sak, uid, ats }: EmulatedTag): number[] {
  const target = [atqa >> 8, atqa & 0xff, sak, uid.length, ...uid];
  return ats.length === 0 ? target : [...target, ats.length + 1, ...ats];
}

/** Big-endian register addresses, one every `stride` bytes. */
function addressesIn(data: Uint8Array, stride: number): number[] {
  return Array.from(
    { length: Math.floor(data.length / stride) },
    (_, index) => (data[index * stride] ?? 0) * 256 + (data[index * stride + 1] ?? 0),
  );
}
