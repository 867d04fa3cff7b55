/** Which USB stick holds what a card asks for, while it is not plugged in: the indexes of the sticks before are asked. */
import { basename } from "node:path";
import type { TitlePreferences } from "../../core/media.ts";
import { mediaNameOf } from "../../core/media.ts";
import { nextTurn } from "../../core/slices.ts";
import { IndexDamage, openMediaIndex } from "../../store/media-index-file.ts";
import { answerOf, findTitle } from "../index/answers.ts";
import { type MediaIndex, openIndex } from "../index/index-file.ts";
import { systemByFolder, systemByName } from "../systems.ts";

export type SoughtMedia =
  /** As a card has it: `<System>/<path>`. */
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "title"; readonly system: string; readonly title: string };

/** The name of the first stick whose index, in one of these files, has it; undefined where none has. */
export async function stickWith(
  files: readonly string[],
  sought: SoughtMedia,
  prefer: TitlePreferences,
): Promise<string | undefined> {
  for (const file of files) {
    try {
      if (await holds(file, sought, prefer)) return nameIn(file);
    } catch (error) {
      // A damaged index has no names of its stick; the next plugging of the stick makes a new one.
      if (!(error instanceof IndexDamage)) throw error;
    }
  }
  return undefined;
}

async function holds(file: string, sought: SoughtMedia, prefer: TitlePreferences): Promise<boolean> {
  const index = await inTurns(openIndex(file));
  if (index === undefined) return false;
  try {
    return await inTurns(lookFor(index, sought, prefer));
  } finally {
    index.close();
  }
}

function* lookFor(
  index: MediaIndex,
  sought: SoughtMedia,
  prefer: TitlePreferences,
): Generator<void, boolean, void> {
  if (sought.kind === "title") {
    const system = systemByName(sought.system);
    return system !== undefined && (yield* findTitle(index, system.id, sought.title, prefer)) !== undefined;
  }
  const [folder = "", ...rest] = sought.path.split("/");
  const system = systemByFolder(folder) ?? systemByName(folder);
  if (system === undefined) return false;
  const path = `${system.id}/${rest.join("/")}`.toLowerCase();
  const query = mediaNameOf(sought.path);
  const { results } = answerOf(index, { query, systems: [system.id], maxResults: candidatesMax });
  return results.some((one) => one.path.toLowerCase() === path);
}

// Files whose names hold the very name of the sought one.
const candidatesMax = 100;

function nameIn(file: string): string | undefined {
  const index = openMediaIndex(file);
  try {
    return index?.bases()[0] && basename(index.bases()[0]?.root ?? "");
  } finally {
    index?.close();
  }
}

async function inTurns<T>(steps: Generator<void, T, void>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextTurn();
  }
}
