/** What scripts do with devices of this machine that are no players: tags that they write, and keys that they press. */
import { ServiceError } from "../../core/errors.ts";
import type { ScriptPorts } from "../../script/command.ts";
import type { RunContext } from "../run-context.ts";

export interface Devices {
  readonly input: ScriptPorts["input"];
  readonly pair: ScriptPorts["pair"];
  /** Writes to the next tag but the one with this UID; rejects as `readers.write` does, and with the signal's reason. */
  writeTag(tag: { readonly text: string; readonly exceptUid?: string }, signal: AbortSignal): Promise<void>;
}

/** On behalf of one script. Where there are no devices, it is told so. */
export function createDevicePorts(
  devices: Devices | undefined,
  { uid, event }: RunContext,
): Pick<ScriptPorts, "input" | "pair" | "write"> {
  const asking = uid ?? event?.token?.uid ?? "";
  return {
    input: devices?.input ?? none,
    pair: devices?.pair ?? none,
    write: async (text, signal) =>
      devices === undefined
        ? none()
        : devices.writeTag({ text, ...(asking === "" ? {} : { exceptUid: asking }) }, signal),
  };
}

async function none(): Promise<void> {
  throw new ServiceError("failed", "there are no devices here that a script may use");
}
