/**
 * All mappings, those of the database and those of files, and what a token's text becomes by them. The first match in
 * the order of creation wins; mappings of files come after all of the database, in the order of file names and places:
 * a file has no order of creation, and what somebody adds by hand in an app is meant to overrule a collection.
 */
import { breather, type FileMapping, type MappingFiles, type MappingJudge } from "../config/mapping-files.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { mappingsCharsMax, mappingsMax, partialCharsMax, regexCostMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Mapping, MappingParams, TokenParams } from "../core/token.ts";
import type { MappingChanges, Mappings } from "../store/mapping-table.ts";
import { checkMapping } from "./check-mapping.ts";
import { createMatcher, type Matcher } from "./matcher.ts";
import { costOf, createRegexes, isFault, type Regexes } from "./regex.ts";
import { type Rule, ruleOf } from "./rules.ts";

export interface Mapper {
  /** In the order in which they are tried. */
  list(): readonly (Mapping & { readonly readOnly?: true })[];
  /** Throws `ServiceError`: `invalid-params` with the field, `busy` where there are too many. */
  add(params: MappingParams): number;
  /** Also throws `not-found`, and `forbidden` for a mapping of a file. */
  update(id: number, changes: MappingChanges): void;
  remove(id: number): void;
  /** The text to launch in the place of the token's own; undefined where no mapping matches. Fast: a tap waits for it. */
  map(token: TokenParams): string | undefined;
  /** Resolves when all that was changed counts: a change of more than 64 mappings takes a moment. */
  settled(): Promise<void>;
  close(): void;
}

export interface MapperParts {
  readonly store: { readonly mappings: Mappings };
  readonly files: MappingFiles;
  readonly log: Log;
  readonly clock: Clock;
}

/** Resolves when every mapping counts: a card that lies on the reader at the start must meet its own. */
export async function createMapper({ store, files, log, clock }: MapperParts): Promise<Mapper> {
  const { mappings } = store;
  const regexes = createRegexes();
  const book = openBook(await keptOf(mappings.list(), { regexes, log, clock }), { regexes, clock });
  const judge: MappingJudge = {
    check: (params) => checkMapping(params, regexes),
    admit: (params, breathe) => admitted(params, regexes, breathe),
  };
  await files.start(judge, book.putFiles);
  await book.matcher.settled();

  const stored = (id: number): Mapping => {
    const file = book.ofFiles().find((mapping) => mapping.id === id)?.file;
    if (file !== undefined)
      throw new ServiceError("forbidden", `this mapping is kept in the file ${file}: change it there`);
    const found = mappings.get(id);
    if (found === undefined) throw notFound(id);
    return found;
  };
  const check = (params: MappingParams, before?: Mapping) => {
    checkMapping(params, regexes);
    const grown = charsOf(params) - (before === undefined ? 0 : charsOf(before));
    // To work out how much there is reads all of it: once, and only where there will be more.
    const size = before === undefined || grown > 0 ? mappings.size() : { mappings: 0, chars: 0 };
    if (before === undefined && size.mappings >= mappingsMax)
      throw busy(`there are ${mappingsMax} mappings already: delete some that are not used`, "mappingsMax");
    if (grown > 0 && size.chars + grown > mappingsCharsMax)
      throw busy(
        `the texts of all mappings together may have ${mappingsCharsMax} characters: delete some, or shorten them`,
        "mappingsCharsMax",
      );
    const load = loadOf(params, regexes);
    const left = leftOf(sumOf(book.loadsBeside(before?.id)));
    if (load.regexCost > left.regexCost)
      throw busy(
        `pattern: this regular expression costs a tap up to ${load.regexCost} look-ups, and of the ${regexCostMax} that all enabled ones may cost ${left.regexCost} are left: begin it with ^, shorten it, or switch off others`,
        "regexCostMax",
        { field: "pattern", cost: load.regexCost, left: left.regexCost },
      );
    if (load.partialChars > left.partialChars)
      throw busy(
        `pattern: it has ${load.partialChars} characters, and of the ${partialCharsMax} that all enabled partial patterns may have ${left.partialChars} are left: shorten it, or switch off others`,
        "partialCharsMax",
        { field: "pattern", cost: load.partialChars, left: left.partialChars },
      );
  };

  return {
    list: () => [
      ...mappings.list(),
      ...book.ofFiles().map(({ file: _, ...mapping }) => ({ ...mapping, readOnly: true as const })),
    ],
    add(params) {
      check(params);
      const id = mappings.add(params, clock.now());
      book.put(id, params);
      log.info("mappings", "added", { id, type: params.type, match: params.match });
      return id;
    },
    update(id, changes) {
      const before = stored(id);
      const after = merged(before, changes);
      // What is only switched off is not judged anew: it may have been kept by an earlier version.
      if (after.enabled || Object.keys(changes).some((key) => key !== "enabled")) check(after, before);
      if (!mappings.update(id, changes)) throw notFound(id);
      book.put(id, after);
      log.info("mappings", "changed", { id });
    },
    remove(id) {
      stored(id);
      if (!mappings.remove(id)) throw notFound(id);
      book.put(id, undefined);
      log.info("mappings", "deleted", { id });
    },
    map: (token) => book.matcher.find(token)?.override,
    settled: () => book.matcher.settled(),
    close() {
      files.close();
      book.matcher.close();
    },
  };
}

/** Which rule stands for which mapping: only those that are enabled have one. */
interface Book {
  readonly matcher: Matcher;
  /** Of the database: a mapping that was made or changed, or, without `params`, one that was deleted. */
  put(id: number, params: MappingParams | undefined): void;
  putFiles(mappings: readonly FileMapping[]): void;
  ofFiles(): readonly FileMapping[];
  /** What the rules of the database, but for the one with this id, cost a tap. */
  loadsBeside(id: number | undefined): readonly Load[];
}

// Above every id of the database.
const firstFileRank = 2 ** 50;

function openBook(
  kept: readonly Mapping[],
  { regexes, clock }: { readonly regexes: Regexes; readonly clock: Clock },
): Book {
  const rules = new Map(kept.map((mapping) => [mapping.id, ruleOf(mapping, mapping.id)]));
  const loads = new Map(kept.map((mapping) => [mapping.id, loadOf(mapping, regexes)]));
  const matcher = createMatcher([...rules.values()], clock, regexes);
  let ofFiles: readonly FileMapping[] = [];
  let fileRules = new Map<number, Rule>();
  return {
    matcher,
    put(id, params) {
      const before = rules.get(id);
      const after = params?.enabled === true ? ruleOf(params, id) : undefined;
      if (after === undefined) rules.delete(id);
      else rules.set(id, after);
      if (params === undefined) loads.delete(id);
      else loads.set(id, loadOf(params, regexes));
      matcher.change(before === undefined ? [] : [before], after === undefined ? [] : [after]);
    },
    putFiles(mappings) {
      const next = new Map(mappings.flatMap((mapping, place) => ranked(mapping, place, fileRules)));
      const kept = new Set(next.values());
      const old = new Set(fileRules.values());
      ofFiles = mappings;
      fileRules = next;
      matcher.change(
        [...old].filter((rule) => !kept.has(rule)),
        [...kept].filter((rule) => !old.has(rule)),
      );
    },
    ofFiles: () => ofFiles,
    loadsBeside: (id) => [...loads].filter(([other]) => other !== id).map(([, load]) => load),
  };
}

/** The rule of an enabled mapping of a file: the one it had, where nothing of it changed. */
function ranked(
  mapping: FileMapping,
  place: number,
  before: ReadonlyMap<number, Rule>,
): readonly (readonly [number, Rule])[] {
  if (!mapping.enabled) return [];
  const rule = ruleOf(mapping, firstFileRank + place);
  const old = before.get(mapping.id);
  return [[mapping.id, old !== undefined && Bun.deepEquals(old, rule) ? old : rule]];
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

/** Of the mappings of files, by themselves: as many as in the database, and at as much cost to a tap. */
async function admitted(
  mappings: readonly MappingParams[],
  regexes: Regexes,
  breathe: () => Promise<void>,
): Promise<string | undefined> {
  if (mappings.length > mappingsMax)
    return `with this file, the files hold more than ${mappingsMax} mappings`;
  const chars = mappings.reduce((sum, mapping) => sum + charsOf(mapping), 0);
  if (chars > mappingsCharsMax)
    return `with this file, the texts in the files have more than ${mappingsCharsMax} characters`;
  const loads: Load[] = [];
  for (const mapping of mappings) {
    loads.push(loadOf(mapping, regexes));
    if (mapping.match === "regex") await breathe();
  }
  const { regexCost, partialChars } = sumOf(loads);
  if (regexCost > regexCostMax)
    return `pattern: with this file, the regular expressions in the files cost a tap up to ${regexCost} look-ups, and ${regexCostMax} is the most: begin them with ^, shorten them, or switch some off`;
  return partialChars > partialCharsMax
    ? `pattern: with this file, the partial patterns in the files have ${partialChars} characters, and ${partialCharsMax} is the most: shorten them, or switch some off`
    : undefined;
}

/** What an enabled mapping costs every tap, and its memory. */
interface Load {
  readonly regexCost: number;
  readonly partialChars: number;
}

function loadOf({ enabled, type, match, pattern }: MappingParams, regexes: Regexes): Load {
  if (!enabled || match === "exact") return { regexCost: 0, partialChars: 0 };
  if (match === "partial") return { regexCost: 0, partialChars: pattern.length };
  const regex = regexes.get(pattern);
  return { regexCost: isFault(regex) ? 0 : costOf(regex, type), partialChars: 0 };
}

function sumOf(loads: readonly Load[]): Load {
  return {
    regexCost: loads.reduce((sum, { regexCost }) => sum + regexCost, 0),
    partialChars: loads.reduce((sum, { partialChars }) => sum + partialChars, 0),
  };
}

function leftOf({ regexCost, partialChars }: Load): Load {
  return {
    regexCost: Math.max(0, regexCostMax - regexCost),
    partialChars: Math.max(0, partialCharsMax - partialChars),
  };
}

/**
 * The enabled mappings of the database that a tap has time for, the first before the last: an earlier version kept more. All
 * expressions are compiled here, and not by the first tap.
 */
async function keptOf(
  stored: readonly Mapping[],
  { regexes, log, clock }: { readonly regexes: Regexes; readonly log: Log; readonly clock: Clock },
): Promise<readonly Mapping[]> {
  const breathe = breather(clock);
  const kept: Mapping[] = [];
  const passed: number[] = [];
  let left: Load = { regexCost: regexCostMax, partialChars: partialCharsMax };
  for (const mapping of stored) {
    if (!mapping.enabled) continue;
    const { regexCost, partialChars } = loadOf(mapping, regexes);
    if (mapping.match === "regex") await breathe();
    if (regexCost > left.regexCost || partialChars > left.partialChars) passed.push(mapping.id);
    else {
      left = { regexCost: left.regexCost - regexCost, partialChars: left.partialChars - partialChars };
      kept.push(mapping);
    }
  }
  if (passed.length > 0)
    log.error(
      "mappings",
      "some mappings of the database are passed over: with them a tap would take too long",
      {
        mappings: passed.length,
        first: passed[0],
        limit: `regexCostMax ${regexCostMax}, partialCharsMax ${partialCharsMax}`,
      },
    );
  return kept;
}

function charsOf({ label, pattern, override }: MappingParams): number {
  return label.length + pattern.length + override.length;
}

function busy(sentence: string, limit: string, facts: Readonly<Record<string, unknown>> = {}): ServiceError {
  return new ServiceError("busy", sentence, { data: { limit, ...facts } });
}

function notFound(id: number): ServiceError {
  return new ServiceError("not-found", `there is no mapping with the id ${id}`);
}
