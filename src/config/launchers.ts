/** The `[[launchers]]` of the config file: the owner's own players. */
import { argvMax, launchersMax } from "../core/limits.ts";
import {
  type Check,
  known,
  launcherTexts,
  list,
  Refusal,
  shown,
  type Table,
  tableOf,
  text,
} from "./checks.ts";
import type { LauncherConfig } from "./shape.ts";

/** Throws `Refusal`, which tells of several launchers which one it is about. */
export function launchersOf(value: unknown): readonly LauncherConfig[] {
  if (typeof value === "object" && !Array.isArray(value))
    throw new Refusal("launchers", "a launcher begins with [[launchers]], in double brackets");
  const tables = list((one) => tableOf(one, "launchers"), launchersMax)(value ?? [], "launchers");
  const launchers: LauncherConfig[] = [];
  for (const [nth, table] of tables.entries()) {
    try {
      launchers.push(launcherOf(table, launchers));
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(error.key, error.message, nth) : error;
    }
  }
  return launchers;
}

function launcherOf(table: Table, earlier: readonly LauncherConfig[]): LauncherConfig {
  known(table, ["id", "systems", "extensions", "command", "kind"], "launchers.");
  const id = text(table.id, "launchers.id");
  if (earlier.some((other) => other.id === id))
    throw new Refusal("launchers.id", `there are two launchers with the id ${id}`);
  if (table.kind !== undefined && table.kind !== "process")
    throw new Refusal("launchers.kind", kindSentence(table.kind));
  const command = list(text, argvMax)(table.command, "launchers.command");
  if (!command.slice(1).some((part) => part.includes("{path}"))) {
    const sentence = `the command of the launcher ${id} must name the file: put "{path}" where it belongs, behind the program`;
    throw new Refusal("launchers.command", sentence);
  }
  return {
    id,
    systems: launcherTexts(text)(table.systems ?? [], "launchers.systems"),
    extensions: launcherTexts(extension)(table.extensions ?? [], "launchers.extensions"),
    command,
  };
}

function kindSentence(kind: unknown): string {
  return kind === "mpv" || kind === "retroarch"
    ? `launchers.kind "${kind}" is not supported yet: leave it out, and write the program in command`
    : `launchers.kind can only be "process" so far, not ${shown(kind)}`;
}

const extension: Check<string> = (value, key) => {
  const name = text(value, key).replace(/^\./, "").toLowerCase();
  if (/^[^./\s]+$/.test(name)) return `.${name}`;
  throw new Refusal(key, `${key} must hold endings of file names such as ".sfc", not ${shown(value)}`);
};
