/**
 * All mappings, those of the database and those of files, and what a token's text becomes by them. The first match in
 * the order of creation wins; mappings of files come after all of the database, in the order of file names and places:
 * a file has no order of creation, and what somebody adds by hand in an app is meant to overrule a collection.
 */
import type { FileMapping, MappingFiles } from "../../config/mapping-files.ts";
import type { Clock } from "../../core/clock.ts";
import { ServiceError } from "../../core/errors.ts";
import { looseRegexesMax, mappingsCharsMax, mappingsMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { Mapping, MappingParams } from "../../core/mapping.ts";
import type { TokenParams } from "../../core/token.ts";
import type { MappingChanges, Mappings } from "../../store/mappings.ts";
import { checkMapping } from "./check.ts";
import { isLoose } from "./loose.ts";
import { createMatcher, type Matcher } from "./matcher.ts";
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
  const book = openBook(mappings.list(), clock);
  await files.start({ check: checkMapping, admit: admitted }, book.putFiles);
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
    checkMapping(params);
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
    if (params.enabled && isLoose(params) && book.looseBeside(before?.id) >= looseRegexesMax)
      throw busy(looseSentence, "looseRegexesMax");
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
  /** How many rules of the database, but for the one with this id, are tried on every tap. */
  looseBeside(id: number | undefined): number;
}

// Above every id of the database.
const firstFileRank = 2 ** 50;

function openBook(stored: readonly Mapping[], clock: Clock): Book {
  const enabled = stored.filter((mapping) => mapping.enabled);
  const rules = new Map(enabled.map((mapping) => [mapping.id, ruleOf(mapping, mapping.id)]));
  const matcher = createMatcher([...rules.values()], clock);
  let ofFiles: readonly FileMapping[] = [];
  let fileRules = new Map<number, Rule>();
  return {
    matcher,
    put(id, params) {
      const before = rules.get(id);
      const after = params?.enabled === true ? ruleOf(params, id) : undefined;
      if (after === undefined) rules.delete(id);
      else rules.set(id, after);
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
    looseBeside: (id) => [...rules].filter(([other, rule]) => other !== id && isLoose(rule)).length,
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

const looseSentence = `${looseRegexesMax} regular expressions that hold no plain word are tried on every tap already: write a word into this one that every match holds, such as the first digits of the uid`;

/** Of the mappings of files, by themselves: as many as in the database, and as many that are tried on every tap. */
async function admitted(
  mappings: readonly MappingParams[],
  breathe: () => Promise<void>,
): Promise<string | undefined> {
  if (mappings.length > mappingsMax)
    return `with this file, the files hold more than ${mappingsMax} mappings`;
  const chars = mappings.reduce((sum, mapping) => sum + charsOf(mapping), 0);
  if (chars > mappingsCharsMax)
    return `with this file, the texts in the files have more than ${mappingsCharsMax} characters`;
  let loose = 0;
  for (const mapping of mappings) {
    if (!mapping.enabled || mapping.match !== "regex") continue;
    if (isLoose(mapping)) loose += 1;
    await breathe();
  }
  return loose > looseRegexesMax ? looseSentence : undefined;
}

function charsOf({ label, pattern, override }: MappingParams): number {
  return label.length + pattern.length + override.length;
}

function busy(sentence: string, limit: string): ServiceError {
  return new ServiceError("busy", sentence, { data: { limit } });
}

function notFound(id: number): ServiceError {
  return new ServiceError("not-found", `there is no mapping with the id ${id}`);
}
