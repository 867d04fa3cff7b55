/**
 * All mappings, of the database and of files. The first match in the order of creation replaces a token's text. Mappings
 * of files come after those of the database, so a mapping from an app overrules a collection. They are ordered by the
 * names of the files, and within a file by their lines.
 */
import { breather, type MappingFiles, type MappingJudge } from "../config/mapping-files.ts";
import type { Clock } from "../core/clock.ts";
import { coded, ServiceError } from "../core/errors.ts";
import { mappingsCharsMax, mappingsMax, partialMappingsMax, regexMappingsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { ListedMapping } from "../core/shapes.ts";
import type { Mapping, MappingParams, TokenParams } from "../core/token.ts";
import type { MappingChanges, Mappings } from "../store/mapping-table.ts";
import { busy, charsOf, checkMapping, checkRoom, fullLimit, tooManyInFiles } from "./check-mapping.ts";
import {
  type ImportPlan,
  type MappingFormat,
  type MappingImport,
  planImport,
  readMappings,
  textOfMappings,
} from "./import-mappings.ts";
import { createMappingLookup, type MappingDraft } from "./mapping-lookup.ts";
import { createRegexes, type Regexes } from "./regex.ts";

export type Mapper = Awaited<ReturnType<typeof createMapper>>;

interface MapperParts {
  readonly store: { readonly mappings: Mappings };
  readonly files: MappingFiles;
  readonly log: Log;
  readonly clock: Clock;
}

/** Resolves when every mapping is loaded, because a card may lie on a reader at the start. */
export async function createMapper({ store, files, log, clock }: MapperParts) {
  const { mappings } = store;
  const regexes = createRegexes();
  const lookup = createMappingLookup(regexes);
  const kept = await keptOf(mappings.list(), regexes, log, clock);
  lookup.put(new Map(kept.map((mapping) => [mapping.id, mapping])));
  const judge: MappingJudge = {
    check: (params) => checkMapping(params, regexes),
    excessOf: tooManyInFiles,
  };
  await files.start(judge, lookup.putFiles);

  const stored = (id: number): Mapping => {
    const file = lookup.ofFiles().find((mapping) => mapping.id === id)?.file;
    if (file !== undefined)
      throw coded(
        "mapping-in-file",
        new ServiceError("forbidden", `this mapping is kept in the file ${file}: change it there`),
        { file },
      );
    const found = mappings.get(id);
    if (found === undefined) throw notFound(id);
    return found;
  };
  const check = (params: MappingParams, before?: Mapping) => {
    checkMapping(params, regexes);
    refuseTwin(lookup.twinOf(params, before));
    const grown = charsOf(params) - (before === undefined ? 0 : charsOf(before));
    // The size of all mappings is read only for a change that increases it, because this reads all of them.
    const size = before === undefined || grown > 0 ? mappings.size() : { mappings: 0, chars: 0 };
    if (before === undefined && size.mappings >= mappingsMax)
      throw coded(
        "mapping-room",
        busy(`there are ${mappingsMax} mappings already: delete some that are not used`, "mappingsMax"),
      );
    if (grown > 0 && size.chars + grown > mappingsCharsMax)
      throw coded(
        "mapping-room",
        busy(
          `the texts of all mappings together may have ${mappingsCharsMax} characters: delete some, or shorten them`,
          "mappingsCharsMax",
        ),
      );
    checkRoom(params, lookup.comparedBeside(before?.id));
  };

  let isImporting = false;
  const importNow = async (text: MappingImport) => {
    const breathe = breather(clock);
    const read = await readMappings(text, judge.check, breathe);
    let before: readonly Mapping[] = [];
    let plan: ImportPlan | undefined;
    let seen = 0;
    // Another change may be made while this one is planned.
    while (plan === undefined || lookup.changes() !== seen) {
      before = mappings.list();
      seen = lookup.changes();
      plan = await planImport(read, text.replace ? [] : before, breathe);
    }
    const { fresh, notes } = plan;
    const added = fresh.map(({ params }) => params);
    const ids = added.length === 0 && !text.replace ? [] : mappings.addAll(added, clock.now(), text.replace);
    const removed = text.replace ? before.map(({ id }) => id) : [];
    lookup.put(
      new Map([
        ...removed.map((id) => [id, undefined] as const),
        ...ids.map((id, place) => [id, added[place]] as const),
      ]),
    );
    log.info("mappings", "imported", { added: ids.length, removed: removed.length });
    return { added: fresh, removed: removed.length, notes };
  };

  return {
    /** The mappings in the order in which they are tried. */
    list: (): readonly ListedMapping[] => [
      ...mappings.list(),
      ...lookup.ofFiles().map((mapping) => ({ ...mapping, readOnly: true })),
    ],
    /**
     * Adds a mapping, and returns its id. Throws `ServiceError`: `invalid-params` with the field, `busy` if there are
     * too many, and `conflict` for a second mapping of a UID.
     */
    add(params: MappingParams): number {
      check(params);
      const id = mappings.add(params, clock.now());
      lookup.put(new Map([[id, params]]));
      log.info("mappings", "added", { id, type: params.type, match: params.match });
      return id;
    },
    /** Changes a mapping. Throws the same as `add`, and also `not-found`, and `forbidden` for a mapping of a file. */
    update(id: number, changes: MappingChanges): void {
      const before = stored(id);
      const after = merged(before, changes);
      // Switching a mapping off is always allowed: an earlier version may have stored it with other limits.
      if (after.enabled || Object.keys(changes).some((key) => key !== "enabled")) check(after, before);
      if (!mappings.update(id, changes)) throw notFound(id);
      lookup.put(new Map([[id, after]]));
      log.info("mappings", "changed", { id });
    },
    remove(id: number): void {
      stored(id);
      if (!mappings.remove(id)) throw notFound(id);
      lookup.put(new Map([[id, undefined]]));
      log.info("mappings", "deleted", { id });
    },
    /** All mappings of the database as the text of a file. */
    exported: (format: MappingFormat) => textOfMappings(mappings.list(), format),
    /**
     * Stores all mappings of a text, or none. Resolves when taps use them. Rejects with `invalid-params` and `conflict`, each
     * with `data.faults`, and with `busy`.
     */
    async import(text: MappingImport) {
      if (isImporting) throw new ServiceError("conflict", "another import is running: try again in a moment");
      isImporting = true;
      try {
        return await importNow(text);
      } finally {
        isImporting = false;
      }
    },
    /**
     * The mappings that match a token, the one that counts first, and the text to launch. With `draft`, the answer is
     * that of a device that has stored the draft. The draft takes the place of the mapping with its id, or is a new
     * mapping if its id is 0.
     */
    test(token: TokenParams, draft?: MappingDraft) {
      if (draft !== undefined) checkMapping(draft, regexes);
      return lookup.test(token, draft);
    },
    reload: () => files.reload(),
    /**
     * The text that replaces the token's own; undefined if no mapping matches. The function is fast, because a tap
     * waits for it.
     */
    map: (token: TokenParams) => lookup.find(token)?.override,
    close: () => files.close(),
  };
}

function merged(before: Mapping, changes: MappingChanges): MappingParams {
  return {
    enabled: changes.enabled ?? before.enabled,
    label: changes.label ?? before.label,
    type: changes.type ?? before.type,
    match: changes.match ?? before.match,
    pattern: changes.pattern ?? before.pattern,
    override: changes.override ?? before.override,
  };
}

/**
 * The enabled mappings of the database, up to the limits, which the mappings of an earlier version may exceed. Compiles
 * every expression.
 */
async function keptOf(
  stored: readonly Mapping[],
  regexes: Regexes,
  log: Log,
  clock: Clock,
): Promise<readonly Mapping[]> {
  const breathe = breather(clock);
  const kept: Mapping[] = [];
  const passed: number[] = [];
  const compared = { exact: 0, regex: 0, partial: 0 };
  for (const mapping of stored) {
    if (!mapping.enabled) continue;
    if (fullLimit(mapping, compared) !== undefined) {
      passed.push(mapping.id);
      continue;
    }
    compared[mapping.match] += 1;
    kept.push(mapping);
    if (mapping.match !== "regex") continue;
    regexes.get(mapping.pattern);
    await breathe();
  }
  if (passed.length > 0)
    log.error("mappings", "some mappings of the database are passed over: there are too many of their kind", {
      mappings: passed.length,
      first: passed[0],
      limit: `regexMappingsMax ${regexMappingsMax}, partialMappingsMax ${partialMappingsMax}`,
    });
  return kept;
}

/** Throws if the UID has a mapping already. The first mapping of a UID applies, so a second one would have no effect. */
function refuseTwin(id: number | undefined): void {
  if (id === undefined) return;
  const sentence = `pattern: the mapping ${id} is for this UID already: change that one, delete it or switch it off`;
  throw coded(
    "mapping-uid-taken",
    new ServiceError("conflict", sentence, { data: { field: "pattern", id } }),
  );
}

function notFound(id: number): ServiceError {
  return new ServiceError("not-found", `there is no mapping with the id ${id}`);
}
