#!/usr/bin/env bun
/**
 * The program: reads the command line, and runs the service until a signal, or one command. A failed start prints one sentence
 * and sets an exit code.
 */
// This import comes first, because it may restart the program.
import "./system/clean-start.ts";
import { dirname } from "node:path";
import {
  drivers,
  forbidCoreDumps,
  localSockets,
  openButtons,
  openCec,
  openInotify,
  openMenuKeys,
  openUinput,
  releaseCode,
  setConsole,
} from "../drivers/index.ts";
import { parseArguments } from "./cli/arguments.ts";
import { runCommand } from "./cli/cli.ts";
import { startService } from "./compose.ts";
import { overridesOf } from "./config/overrides.ts";
import { readConfig } from "./config/read-config.ts";
import { asOwnerOf } from "./core/as-owner.ts";
import { exitCodes, messageOf, StartError } from "./core/errors.ts";
import { jobArgument } from "./media/scan/indexer.ts";
import { drawArgument } from "./screen/painter.ts";
import { type PlaceOptions, placesOf } from "./system/folders.ts";
import { createLogLines } from "./system/log-lines.ts";
import { restartProgram, tapdeckVersion } from "./system/own-program.ts";

process.exitCode = await start(process.argv.slice(2));

/** Runs the program, or a job of the media index or the screen if the service started this process for it. */
async function start(argv: readonly string[]): Promise<number> {
  if (argv[0] === jobArgument) return (await import("./media/scan/index-job.ts")).runIndexJob();
  if (argv[0] === drawArgument) return (await import("./screen/draw-job.ts")).runDrawJob(setConsole);
  return main(argv);
}

async function main(argv: readonly string[]): Promise<number> {
  // If the disk is full or the pipe is closed, log lines are lost, but cards still work.
  process.stderr.on("error", () => {});
  const lines = createLogLines(process.stderr);
  try {
    const asked = parseArguments(argv);
    return asked.kind === "serve"
      ? await serve(asked, lines.write)
      : await runCommand(asked, {
          configOf,
          placesOf: (options) => placesOf(options, process.env),
          version: tapdeckVersion,
        });
  } catch (error) {
    if (error instanceof StartError) lines.write(`tapdeck: ${error.message}`);
    else
      lines.write(
        `tapdeck: internal error: ${error instanceof Error ? (error.stack ?? error.message) : messageOf(error)}`,
      );
    return error instanceof StartError ? error.exitCode : exitCodes.internal;
  } finally {
    lines.flush();
  }
}

async function serve(options: PlaceOptions, write: (line: string) => void): Promise<number> {
  forbidCoreDumps();
  const stopped = signalled(["SIGINT", "SIGTERM", "SIGHUP"]);
  const places = placesOf(options, process.env);
  const overrides = overridesOf(process.env);
  const restarting = Promise.withResolvers<"restart">();
  const restart = () => restarting.resolve("restart");
  const kernel = {
    openInput: openUinput,
    watchFolders: openInotify,
    openTelevision: openCec,
    openButtons,
    openMenuKeys,
    localSockets,
    releaseCode,
  };
  const parts = { places, drivers, ...kernel, overrides, restart, write };
  const service = await startService(parts);
  const asked = await Promise.race([stopped, restarting.promise]);
  await service.close();
  // A signal during the stop cancels the restart.
  if (asked === "restart" && (await Promise.race([stopped, asked])) === "restart") restartProgram();
  return exitCodes.ok;
}

async function configOf(options: PlaceOptions) {
  const { configPath, configNamed, dataFolder } = placesOf(options, process.env);
  // A link of another user must not make root read its own files in this place.
  return asOwnerOf(dirname(configPath), () => readConfig(configPath, { dataFolder, mustExist: configNamed }));
}

function signalled(signals: readonly NodeJS.Signals[]): Promise<void> {
  return new Promise((resolve) => {
    // Ctrl-C reaches the whole process group, and a parent may send it again. A second signal must not interrupt the stop.
    for (const signal of signals) process.on(signal, () => resolve());
  });
}
