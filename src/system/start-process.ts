/**
 * The process of a player: in a session of its own, confined, with a mark in its environment by which its family is found.
 * Most are made of the spare (spare-player.ts); the others, here.
 */
import { noDescriptors } from "../core/descriptors.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import { confined, type Reach } from "./confine.ts";
import { createMarks, type Family, markName } from "./descendants.ts";
import { playerEnvironment } from "./player-environment.ts";

export interface StartOptions {
  /** Added to the service's own variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder that it works in; the service's own where absent. */
  readonly folder?: string | undefined;
  /** What it finds at its standard input: a file in memory. */
  readonly input?: Uint8Array | undefined;
  readonly hasLine?: boolean;
  /** Its standard input and output are ours; `input` has no meaning then. */
  readonly hasTalk?: boolean;
  /** "network" where absent. */
  readonly reach?: Reach;
}

export type Child = ReturnType<typeof spawn>;

export interface Started {
  readonly child: Child;
  readonly family: Family;
}

/** Starts `argv`; throws `ServiceError("failed")` with a sentence where the program cannot be started. */
export function startProcess(argv: readonly string[], options: StartOptions): Started {
  const { environment, folder, reach = "network" } = options;
  const path = environment?.PATH ?? playerEnvironment.PATH;
  try {
    return startCommand(confined(argv, reach, { path, folder }), options);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = refusals[code] ?? messageOf(error);
    const where = folder === undefined ? "" : ` in the folder ${folder}`;
    throw new ServiceError("failed", `the player ${argv[0]} could not be started${where}: ${why}`, {
      cause: error,
    });
  }
}

/** As it stands, with `extra` descriptors behind those that the options ask for. Throws what the runtime does. */
export function startCommand(
  command: readonly string[],
  options: StartOptions,
  extra: "pipe"[] = [],
): Started {
  const birth = nextMark();
  const child = spawn(command, birth.mark, options, extra);
  return { child, family: { groupId: child.pid, ...birth } };
}

const nextMark = createMarks();

function spawn(
  command: readonly string[],
  mark: string,
  { environment, folder, input, hasLine = false, hasTalk = false }: StartOptions,
  extra: readonly "pipe"[],
) {
  // The runtime makes a file in memory of bytes.
  const standard = [hasTalk ? "pipe" : (input ?? "ignore"), hasTalk ? "pipe" : "ignore", "pipe"] as const;
  const env: Record<string, string | undefined> = {
    ...playerEnvironment,
    ...environment,
    [markName]: mark,
  };
  return Bun.spawn([...command], {
    stdio: hasLine ? [...standard, "pipe", ...extra] : [...standard, ...extra],
    env,
    ...(folder === undefined ? {} : { cwd: folder }),
    detached: true,
  });
}

const refusals: Readonly<Record<string, string>> = {
  ENOENT: "there is no such program",
  EACCES: "it is not a program that this user may run",
  ENOEXEC: "it is not a program for this machine",
  EMFILE: noDescriptors,
  ENFILE: noDescriptors,
};
