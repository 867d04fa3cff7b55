/** The devices of this machine: the acts of scripts on them, and the readers that are devices. */
import type { Bus } from "../../bus.ts";
import { failed } from "../../core/errors.ts";
import type { ScriptPorts } from "../../script/command.ts";
import type { RunContext } from "../run-context.ts";

export interface Devices {
  readonly input: ScriptPorts["input"];
  readonly pair: ScriptPorts["pair"];
  readonly shutdown?: ScriptPorts["shutdown"];
  /**
   * Saves a picture of the device's own screen, and resolves with its path; undefined if there is no screen, or a
   * player uses it.
   */
  captureScreen?(): Promise<string | undefined>;
  /** Rejects with `ServiceError` if the folder of screenshots is full. No player then saves another one. */
  refuseFullScreenshots?(): Promise<void>;
  /** Writes to the next tag, except the one with this UID. Rejects as `readers.write` does, and with the signal's reason. */
  writeTag(tag: { readonly text: string; readonly exceptUid?: string }, signal: AbortSignal): Promise<void>;
}

/** The ports of one script. Without `devices`, each rejects with `ServiceError`. */
export function createDevicePorts(
  devices: Devices | undefined,
  { uid, event }: RunContext,
): Pick<ScriptPorts, "input" | "pair" | "shutdown" | "write"> {
  const ownUid = uid ?? event?.token?.uid ?? "";
  return {
    input: devices?.input ?? none,
    pair: devices?.pair ?? none,
    shutdown: devices?.shutdown ?? none,
    write: async (text, signal) =>
      devices === undefined
        ? none()
        : devices.writeTag({ text, ...(ownUid === "" ? {} : { exceptUid: ownUid }) }, signal),
  };
}

async function none(): Promise<void> {
  throw failed("there are no devices here that a script may use");
}

/** Listens until disposed. A reader is announced before its first card. */
export function followDeviceReaders(bus: Bus) {
  // The number of ids is limited by the ports of this machine.
  const ids = new Set<string>();
  const listening = bus.on("readers.added", ({ readerId, driver }) => {
    if (driver === "simulated") ids.delete(readerId);
    else ids.add(readerId);
  });
  return {
    /** False for the API's virtual reader, for a simulated reader, and for an unknown id. */
    has: (readerId: string) => readerId !== "" && ids.has(readerId),
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
