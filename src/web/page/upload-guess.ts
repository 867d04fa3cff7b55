/** Where a chosen file belongs: by the folder that it is in, by its ending, or as the cover of media with its name. */
import type { Calls, Client } from "../../client/client.ts";
import type { UploadSource } from "../../client/upload.ts";
import { mediaNameOf } from "../../core/media.ts";

export type UploadSystem = Calls["uploads.systems"]["result"]["systems"][number];
type Place = Pick<UploadSource, "system" | "path">;

const mediaSystems: readonly string[] = ["Audio", "Video", "Image"];

/** The system and the path below its folder; undefined if neither a folder nor the ending names one system. */
export function placeOf(path: string, systems: readonly UploadSystem[], chosen: string): Place | undefined {
  const inFolder = placeInFolder(path, systems, chosen);
  if (inFolder !== undefined) return inFolder;
  if (chosen !== "") return { system: chosen, path };
  const fitting = fittingFor(endingOf(path), systems);
  // The ending `.sfc` belongs to SNES, of which SNESMSU1 is a variant.
  const only =
    fitting.find(({ id }) => mediaSystems.includes(id)) ??
    fitting.find(({ id }) => fitting.every((other) => other.id.startsWith(id)));
  return only === undefined ? undefined : { system: only.id, path };
}

function placeInFolder(path: string, systems: readonly UploadSystem[], chosen: string): Place | undefined {
  const names = path.split("/");
  for (const [at, name] of names.slice(0, -1).entries()) {
    const key = keyOf(name);
    const named = systems.find(
      (one) => keyOf(one.id) === key || one.folders.includes(key) || keyOf(one.name) === key,
    );
    if (named !== undefined && (chosen === "" || named.id === chosen))
      return { system: named.id, path: names.slice(at + 1).join("/") };
  }
  return undefined;
}

/** The ending in small letters with its dot, or nothing: `.sfc`. */
export function endingOf(path: string): string {
  return /\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? "";
}

const fittingFor = (ending: string, systems: readonly UploadSystem[]) =>
  systems.filter(({ extensions }) => extensions.includes(ending));

/** The systems with such files, those of the library first. */
export function systemsFor(
  ending: string,
  systems: readonly UploadSystem[],
  used: readonly string[],
): readonly UploadSystem[] {
  const rank = ({ id }: UploadSystem) => (used.includes(id) ? 0 : 1);
  return fittingFor(ending, systems).toSorted((a, b) => rank(a) - rank(b));
}

/** A picture that no folder gives to a system. */
export function isLoosePicture(path: string, systems: readonly UploadSystem[]): boolean {
  return /\.(png|jpe?g|webp)$/i.test(path) && placeInFolder(path, systems, "") === undefined;
}

/** The place of a picture as the cover of media with its name, which are sent with it or in the library; undefined if there are none. */
export async function coverPlace(
  client: Pick<Client, "call">,
  path: string,
  sent: readonly Place[],
): Promise<Place | undefined> {
  const name = mediaNameOf(path);
  const isNamed = (other: string) => other.toLowerCase() === name.toLowerCase();
  const beside = sent.find((one) => isNamed(mediaNameOf(one.path)));
  const system = beside?.system ?? (await systemOfMedia(client, name, isNamed));
  if (system === undefined) return undefined;
  return { system, path: `covers/${path.slice(path.lastIndexOf("/") + 1)}` };
}

const searchedMax = 50;

async function systemOfMedia(
  client: Pick<Client, "call">,
  query: string,
  isNamed: (name: string) => boolean,
): Promise<string | undefined> {
  const { results } = await client.call("media.search", { query, systems: [], maxResults: searchedMax });
  return results.find(({ name, system }) => system.id !== "Image" && isNamed(name))?.system.id;
}

function keyOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\s_\-\u0300-\u036f]/g, "")
    .toLowerCase();
}
