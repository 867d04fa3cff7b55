/**
 * Mappings as the text of a file: reads them, and decides which mappings an import adds, changes and deletes. Nothing is
 * changed here.
 */
import { mappingsCsv, readMappingsCsv } from "../config/mapping-csv.ts";
import {
  type MappingCheck,
  MappingFileFault,
  mappingsToml,
  type ReadMappings,
  readMappingsToml,
} from "../config/mapping-file.ts";
import { coded, messageOf, ServiceError } from "../core/errors.ts";
import { importFaultsMax, mappingsCharsMax, mappingsMax } from "../core/limits.ts";
import type { RefusalCode } from "../core/refusals.ts";
import type { Mapping, MappingParams } from "../core/token.ts";
import { busy, charsOf, checkRoom, comparedOf } from "./check-mapping.ts";
import { isOfUid, patternOf } from "./mapping-rules.ts";

export type MappingFormat = "toml" | "csv";

export interface MappingImport {
  readonly format: MappingFormat;
  readonly content: string;
  /** True if the text replaces all mappings of the database. */
  readonly replace: boolean;
}

/** A sentence about a line of the text. */
export interface LineNote {
  readonly line: number;
  readonly message: string;
  readonly refusal?: RefusalCode;
}

export function textOfMappings(mappings: readonly MappingParams[], format: MappingFormat): string {
  return format === "toml" ? mappingsToml(mappings) : mappingsCsv(mappings);
}

/** The mappings of the text, each with its line. Throws `invalid-params` with `data.faults` if any is invalid. */
export async function readMappings(
  { format, content, replace }: MappingImport,
  check: MappingCheck,
  breathe: () => Promise<void>,
): Promise<ReadMappings["mappings"]> {
  // An empty text is the export of a device without mappings.
  if (content === "" && replace) return [];
  const read = format === "toml" ? readMappingsToml : readMappingsCsv;
  const { mappings, faults } = await read(content, check, breathe).catch((error: unknown) => {
    if (error instanceof MappingFileFault) return { mappings: [], faults: [error] };
    throw error;
  });
  const codesOf = (cause: unknown) => (cause instanceof ServiceError ? cause.data : {});
  refuseFaults(faults.map(({ line = 1, message, cause }) => ({ line, message, ...codesOf(cause) })));
  if (mappings.length === 0)
    throw coded("mapping-none", new ServiceError("invalid-params", "content: there is no mapping in it"));
  return mappings;
}

export interface ImportPlan {
  readonly fresh: ReadMappings["mappings"];
  /** Notes about lines that are left out, because their mapping exists already. */
  readonly notes: readonly LineNote[];
}

/**
 * The mappings that are to be stored beside those of `kept`. Throws `conflict` with `data.faults` for a second text of one
 * UID, and `busy` at a limit.
 */
export async function planImport(
  read: ReadMappings["mappings"],
  kept: readonly Mapping[],
  breathe: () => Promise<void>,
): Promise<ImportPlan> {
  const known = new Map(kept.map((mapping) => [effectOf(mapping), `the mapping ${mapping.id}`]));
  const ofUids = new Map(
    kept.flatMap((one) => (isOfUid(one) ? [[patternOf(one), `the mapping ${one.id}`]] : [])),
  );
  const fresh: ReadMappings["mappings"][number][] = [];
  const notes: LineNote[] = [];
  const faults: LineNote[] = [];
  for (const { line, params } of read) {
    await breathe();
    const same = known.get(effectOf(params));
    const twin = isOfUid(params) ? ofUids.get(patternOf(params)) : undefined;
    if (same !== undefined)
      notes.push({
        line,
        message: `${same} does the same, so this one is left out`,
        refusal: "mapping-line-twice",
      });
    else if (twin !== undefined)
      faults.push({
        line,
        message: `pattern: ${twin} is for this UID already: delete or switch off one of them`,
        refusal: "mapping-uid-taken",
      });
    else fresh.push({ line, params });
    known.set(effectOf(params), same ?? `the mapping in line ${line}`);
    if (isOfUid(params)) ofUids.set(patternOf(params), twin ?? `the mapping in line ${line}`);
  }
  refuseFaults(faults, "conflict");
  await checkSizes(fresh, kept, breathe);
  return { fresh, notes };
}

/** Throws `busy` with the line at which a limit is reached. */
async function checkSizes(
  fresh: ReadMappings["mappings"],
  kept: readonly Mapping[],
  breathe: () => Promise<void>,
): Promise<void> {
  let chars = kept.reduce((sum, mapping) => sum + charsOf(mapping), 0);
  const compared = { exact: 0, ...comparedOf(kept.filter(({ enabled }) => enabled)) };
  for (const [index, { line, params }] of fresh.entries()) {
    await breathe();
    if (kept.length + index >= mappingsMax)
      throw coded(
        "mapping-room",
        busy(`line ${line}: from here on there are more than ${mappingsMax} mappings`, "mappingsMax"),
      );
    chars += charsOf(params);
    if (chars > mappingsCharsMax)
      throw coded(
        "mapping-room",
        busy(
          `line ${line}: from here on the texts of all mappings have more than ${mappingsCharsMax} characters`,
          "mappingsCharsMax",
        ),
      );
    try {
      checkRoom(params, compared);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.code, `line ${line}: ${messageOf(error)}`, {
        data: { line, ...error.data },
      });
    }
    if (params.enabled) compared[params.match] += 1;
  }
}

/** A text that is equal for mappings with the same effect, whatever their labels. */
function effectOf(mapping: MappingParams): string {
  const { enabled, type, match, override } = mapping;
  return JSON.stringify([enabled, type, match, patternOf(mapping), override]);
}

function refuseFaults(
  faults: readonly LineNote[],
  code: "invalid-params" | "conflict" = "invalid-params",
): void {
  const [first] = faults;
  if (first === undefined) return;
  const more = faults.length - 1;
  const rest = more === 0 ? "" : ` (and ${more} more ${more === 1 ? "line" : "lines"})`;
  throw new ServiceError(code, `line ${first.line}: ${first.message}${rest}`, {
    data: { faults: faults.slice(0, importFaultsMax) },
  });
}
