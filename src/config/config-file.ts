/**
 * The config file while the service runs: its last valid text, its present fault, and edits of single settings.
 * Callers must not call its functions concurrently.
 */
import { basename } from "node:path";
import { coded, failed, StartError } from "../core/errors.ts";
import { faultSentence } from "../core/faults.ts";
import { configBytesMax, configSavedBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type ButtonChange, editButtons } from "./button-edit.ts";
import type { Table } from "./checks.ts";
import { type Overrides, overrideSentence, withOverrides } from "./overrides.ts";
import { type ConfigDefaults, configOf, readConfigText } from "./read-config.ts";
import { saveFile, savingFault, targetOf } from "./save.ts";
import { editsOf, type SettingsPatch } from "./settings-patch.ts";
import type { Config } from "./shape.ts";
import { editToml } from "./toml-edit.ts";

export interface ConfigFileOptions extends ConfigDefaults {
  readonly path: string;
  readonly log: Log;
  /** Settings that replace those of the file. */
  readonly overrides?: Overrides;
}

export type ConfigFile = Awaited<ReturnType<typeof openConfigFile>>;

// Another program may save the file at the same time, but not likely at each of these attempts.
const attemptsMax = 5;

/** Throws `StartError` with exit code 78 if the file is invalid. */
export async function openConfigFile({
  path,
  dataFolder,
  mustExist,
  log,
  overrides = {},
}: ConfigFileOptions) {
  const name = basename(path);
  const read = () => readConfigText(path, mustExist);
  // Remote callers see the sentences of a running service, so they name the file without its folders.
  const configIn = (text: string | undefined, named = name) =>
    withOverrides(configOf(text ?? "", named, dataFolder, shared), overrides);
  let shared: Table = {};
  let seen = await read();
  let goodText = seen;
  let good = configIn(seen, path);
  const overridden = overrideSentence(overrides);
  if (overridden !== undefined) {
    const { anonymous, removable } = overrides;
    log.info("config", overridden, { anonymous, removable: removable?.join(":") });
  }
  for (const one of overrides.faults ?? []) log.error("config", faultSentence(one));
  let fault: string | undefined;
  const withoutFolders = ({ message }: StartError) => message.replaceAll(path, name);

  return {
    /** The config of the last valid text. */
    good: (): Config => good,
    /** The reason why the present file is not in use; undefined if it is in use. */
    fault: () => fault,
    /** Adds these settings to `good` (`withShared`). */
    share(settings: Table): void {
      shared = settings;
      good = configIn(goodText);
    },
    /** Reads the file again if it changed. An invalid text is a fault, and the last valid one stays in use. */
    async look(): Promise<void> {
      try {
        const text = await read();
        if (text === seen && fault === undefined) return;
        seen = text;
        good = configIn(text);
        goodText = text;
        fault = undefined;
        log.info("config", "the file was edited and is in use", { file: path });
      } catch (error) {
        if (!(error instanceof StartError)) throw error;
        const reason = withoutFolders(error);
        if (reason !== fault)
          log.error("config", `${reason}; the last good settings stay in use`, { file: path });
        fault = reason;
      }
    },
    /**
     * Applies the change to the present text and saves that, unless nothing changes. Throws `ServiceError("failed")` and
     * then leaves the file unchanged.
     */
    async save(change: SettingsPatch | ButtonChange): Promise<void> {
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        const before = await readSound(read, configIn, withoutFolders);
        const text = "script" in change ? withButton(before ?? "", change) : patched(before ?? "", change);
        // A caller's change may make the file invalid.
        if (text !== before) readable(() => configIn(text), withoutFolders);
        // A file that cannot be read any more counts as changed.
        const isSame = () =>
          read().then(
            (now) => now === before,
            () => false,
          );
        if (text !== before && !(await replaced(path, text, isSame))) continue;
        seen = text;
        goodText = text;
        good = configIn(text);
        fault = undefined;
        return;
      }
      throw coded(
        "setting-not-saved",
        failed("the config file could not be saved: somebody else keeps changing it"),
      );
    },
  };
}

/** The text of the file. Throws if the text is invalid, because edits start from a valid text only. */
async function readSound(
  read: () => Promise<string | undefined>,
  configIn: (text: string | undefined) => Config,
  withoutFolders: (error: StartError) => string,
): Promise<string | undefined> {
  try {
    const text = await read();
    configIn(text);
    return text;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const sentence = `nothing was saved, for the config file has a fault: ${withoutFolders(error)}`;
    throw coded("setting-not-saved", failed(sentence, error));
  }
}

function patched(before: string, patch: SettingsPatch): string {
  const outcome = editToml(before, editsOf(patch));
  if (outcome.kind === "refused") {
    const { section, key } = outcome.edit;
    const sentence = `${section}.${key} is written in a way that a program cannot change: change it in the config file by hand`;
    throw coded("setting-not-saved", failed(sentence));
  }
  return ofSize(before, outcome.text);
}

function withButton(before: string, change: ButtonChange): string {
  const text = editButtons(before, change);
  if (text === undefined) {
    const sentence =
      "the buttons are written in a way that a program cannot change: change them in the config file by hand";
    throw coded("setting-not-saved", failed(sentence));
  }
  return ofSize(before, text);
}

/** Throws if the config is not valid with the change. */
function readable(read: () => unknown, withoutFolders: (error: StartError) => string): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    throw coded("setting-not-saved", failed(`nothing was saved: ${withoutFolders(error)}`, error));
  }
}

function ofSize(before: string, text: string): string {
  // A text that the owner has written may be longer.
  const most = Buffer.byteLength(before) > configSavedBytesMax ? configBytesMax : configSavedBytesMax;
  if (Buffer.byteLength(text) > most)
    throw coded("setting-not-saved", failed(`the config file would be larger than ${most} bytes`));
  return text;
}

async function replaced(path: string, text: string, mayReplace: () => Promise<boolean>): Promise<boolean> {
  try {
    return await saveFile(await targetOf(path), text, mayReplace);
  } catch (error) {
    const sentence = `the config file could not be saved: ${savingFault(error)}`;
    throw coded("setting-not-saved", failed(sentence, error));
  }
}
