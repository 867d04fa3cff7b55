/**
 * The inside of an emulated PN532. It takes a command's payload and returns its answer. It has the chip's state: power,
 * configuration, rate, registers, and the tags in the field (UM0701-02, section 7). It does not depend on a line.
 */
import {
  baudRateCodes,
  chipToHost,
  commandCodes,
  hostToChip,
} from "../../drivers/protocol/pn532-commands.ts";
import {
  createField,
  type EmulatedField,
  instantRadio,
  type RadioTiming,
  realRadio,
} from "./emulated-field.ts";
import {
  autoPoll,
  type ChipMemory,
  exchangeData,
  freshMemory,
  listTargets,
  runCommunicateThru,
  silenceMsOf,
} from "./pn532-radio.ts";
import type { EmulatedTag } from "./type-a.ts";

export { instantRadio, type RadioTiming, realRadio };

export type Reply =
  /**
   * The answer's payload, ready `afterMs` milliseconds after the command. With `sleeps`, the chip sleeps once the
   * answer was sent.
   */
  | {
      readonly kind: "answer";
      readonly payload: Uint8Array;
      readonly afterMs: number;
      readonly sleeps?: true;
    }
  /**
   * The caller asks again after a tag was put on. `payload` is the answer if no tag was put on for `forMs`, which may be
   * Infinity.
   */
  | { readonly kind: "waiting"; readonly forMs: number; readonly payload: Uint8Array }
  | { readonly kind: "syntax-error" };

export interface EmulatedChip {
  /** Resets the chip to its state after power-up: asleep, unconfigured, at 115200 baud. Tags stay in the field. */
  powerUp(): void;
  /** True after the line has woken the chip. A sleeping chip receives nothing else. */
  readonly awake: boolean;
  wake(): void;
  sleep(): void;
  /** The rate in baud. */
  readonly baudRate: number;
  /**
   * True if the chip receives bytes at this rate. While the chip waits for the ACK to a rate change, both rates count. A
   * pty does not store the rate of each byte, and the host changes its own rate directly after the ACK.
   */
  hears(baudRate: number): boolean;
  /** Notes that the host acknowledged an answer, or aborted a command. */
  hostAck(): void;
  run(payload: Uint8Array): Reply;
  put(tag: EmulatedTag): void;
  take(tag?: EmulatedTag): void;
}

export interface ChipParts {
  readonly memory: ChipMemory;
  readonly field: EmulatedField;
  readonly radio: RadioTiming;
}

/** The result of a command: the data after D5 and the code, a wait, or undefined for malformed parameters. */
export type Outcome =
  | { readonly data: ArrayLike<number>; readonly afterMs?: number; readonly sleeps?: true }
  | { readonly waitMs: number; readonly data: ArrayLike<number> }
  | undefined;

type Command = (parts: ChipParts, data: Uint8Array) => Outcome;

const ok = 0x00;
const wrongContext = 0x27;
/** The commands that our driver sends, and those of other programs. */
const code = {
  ...commandCodes,
  diagnose: 0x00,
  getGeneralStatus: 0x04,
  readRegister: 0x06,
  writeRegister: 0x08,
  setParameters: 0x12,
  powerDown: 0x16,
  inDeselect: 0x44,
  inRelease: 0x52,
  inSelect: 0x54,
  inAutoPoll: 0x60,
} as const;

const commands: ReadonlyMap<number, Command> = new Map<number, Command>([
  [code.diagnose, diagnose],
  [code.getFirmwareVersion, () => ({ data: [0x32, 0x01, 0x06, 0x07] })], // The answer is: PN532, firmware 1.6, all protocols.
  [code.getGeneralStatus, generalStatus],
  [code.readRegister, readRegisters],
  [code.writeRegister, writeRegisters],
  [code.setSerialBaudRate, changeRate],
  [code.setParameters, setParameters],
  [code.samConfiguration, configureSam],
  [code.powerDown, () => ({ data: [ok], sleeps: true })],
  [code.rfConfiguration, configureRf],
  [code.inDataExchange, exchangeData],
  [code.inCommunicateThru, runCommunicateThru],
  [code.inDeselect, release],
  [code.inListPassiveTarget, listTargets],
  [code.inRelease, release],
  [code.inSelect, select],
  [code.inAutoPoll, autoPoll],
]);
/**
 * Commands that need the radio; a chip in its low-battery mode after power-up refuses them (the form of the refusal is an
 * assumption).
 */
const radioCommands: readonly number[] = [
  code.inDataExchange,
  code.inCommunicateThru,
  code.inListPassiveTarget,
  code.inAutoPoll,
];

export function createEmulatedChip(radio: RadioTiming): EmulatedChip {
  const field = createField(radio);
  let memory = freshMemory();

  return {
    powerUp() {
      memory = freshMemory();
      field.switchOff();
    },
    get awake() {
      return memory.awake;
    },
    wake() {
      memory.awake = true;
    },
    sleep() {
      memory.awake = false;
      field.switchOff();
    },
    get baudRate() {
      return memory.baudRate;
    },
    hears: (baudRate) => baudRate === memory.baudRate || baudRate === memory.nextBaudRate,
    hostAck() {
      memory.baudRate = memory.nextBaudRate ?? memory.baudRate;
      memory.nextBaudRate = undefined;
    },
    run(payload) {
      const [direction, number = 0xff] = payload;
      const command = commands.get(number);
      if (direction !== hostToChip || command === undefined) return { kind: "syntax-error" };
      if (!memory.configured && radioCommands.includes(number)) return { kind: "syntax-error" };
      const outcome = command({ memory, field, radio }, payload.subarray(2));
      if (outcome === undefined) return { kind: "syntax-error" };
      const answer = Uint8Array.of(chipToHost, number + 1, ...Array.from(outcome.data));
      if ("waitMs" in outcome) return { kind: "waiting", forMs: outcome.waitMs, payload: answer };
      const sleeps = outcome.sleeps === undefined ? {} : { sleeps: outcome.sleeps };
      return { kind: "answer", payload: answer, afterMs: outcome.afterMs ?? 0, ...sleeps };
    },
    put: field.put,
    take: field.take,
  };
}

/** Diagnose (7.2.1): test 0 echoes, test 6 checks whether the target is still present, and the others pass. */
function diagnose({ field }: ChipParts, data: Uint8Array): Outcome {
  const [test] = data;
  if (test === undefined) return undefined;
  if (test === 0x00) return { data };
  const [target] = field.targets;
  return { data: [test === 0x06 && (target === undefined || !field.tags.includes(target)) ? 0x01 : ok] };
}

/** GetGeneralStatus (7.2.3): last error, field of another, targets with their rates and type, state of the SAM. */
function generalStatus({ memory, field }: ChipParts): Outcome {
  const targets = field.targets.flatMap((_, index) => [index + 1, 0x00, 0x00, 0x10]);
  return { data: [memory.lastError, 0x00, field.targets.length, ...targets, 0x00] };
}

/** ReadRegister (7.2.4): the addresses have two bytes, big-endian. */
function readRegisters({ memory }: ChipParts, data: Uint8Array): Outcome {
  if (data.length === 0 || data.length % 2 !== 0) return undefined;
  return { data: addressesIn(data, 2).map((address) => memory.registers.get(address) ?? 0) };
}

/** WriteRegister (7.2.5): address and value, three bytes each. */
function writeRegisters({ memory }: ChipParts, data: Uint8Array): Outcome {
  if (data.length === 0 || data.length % 3 !== 0) return undefined;
  for (const [index, address] of addressesIn(data, 3).entries())
    memory.registers.set(address, data[index * 3 + 2] ?? 0);
  return { data: [] };
}

/** SetSerialBaudRate (7.2.8): the answer comes at the old rate, and the host's ACK to it changes the rate. */
function changeRate({ memory }: ChipParts, [wanted]: Uint8Array): Outcome {
  const rate = [...baudRateCodes].find(([, known]) => known === wanted)?.[0];
  if (rate === undefined) return undefined;
  memory.nextBaudRate = rate;
  return { data: [] };
}

/** SetParameters (7.2.9). */
function setParameters({ memory }: ChipParts, [flags]: Uint8Array): Outcome {
  if (flags === undefined) return undefined;
  memory.parameters = flags;
  return { data: [] };
}

/** SAMConfiguration (7.2.10), with the modes 1 to 4. */
function configureSam({ memory }: ChipParts, [mode = 0]: Uint8Array): Outcome {
  if (mode < 1 || mode > 4) return undefined;
  memory.configured = true;
  return { data: [] };
}

/**
 * RFConfiguration (7.3.1): item 1 the field, 2 the time-outs, 5 the retries. The analogue settings are accepted and dropped.
 */
function configureRf({ memory, field }: ChipParts, data: Uint8Array): Outcome {
  const [item, first = 0, , third = 0] = data;
  switch (item) {
    case 0x01:
      if ((first & 1) === 0) field.switchOff();
      return { data: [] };
    case 0x02:
      memory.silenceMs = silenceMsOf(third);
      return { data: [] };
    case 0x05:
      memory.activationRetries = third;
      return { data: [] };
    case 0x04:
    case 0x0a:
    case 0x0b:
    case 0x0c:
    case 0x0d:
      return { data: [] };
    default:
      return undefined;
  }
}

/** InDeselect and InRelease (7.3.10 and 7.3.11): halts a target, or all. Released targets are no longer targets. */
function release({ field }: ChipParts, [number]: Uint8Array): Outcome {
  if (number === undefined) return undefined;
  const known = number <= field.targets.length;
  if (!known) return { data: [wrongContext] };
  field.halt(number);
  if (number === 0 || field.targets.length === 1) field.forgetTargets();
  return { data: [ok] };
}

/** InSelect (7.3.12). */
function select({ field, radio }: ChipParts, [number]: Uint8Array): Outcome {
  if (number === undefined) return undefined;
  const tag = field.targets[number - 1];
  if (tag === undefined || !field.tags.includes(tag)) return { data: [wrongContext] };
  tag.select();
  return { data: [ok], afterMs: radio.activationMs };
}

function addressesIn(data: Uint8Array, stride: number): number[] {
  return Array.from(
    { length: data.length / stride },
    (_, index) => (data[index * stride] ?? 0) * 256 + (data[index * stride + 1] ?? 0),
  );
}
