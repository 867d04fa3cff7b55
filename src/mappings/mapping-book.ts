/** The rules of all mappings, of the database and of files, as taps use them. Only enabled mappings have one. */
import type { FileMapping } from "../config/mapping-files.ts";
import type { Clock } from "../core/clock.ts";
import { type Mapping, type MappingParams, normalizeUid, type TokenParams } from "../core/token.ts";
import { type Load, loadOf } from "./check-mapping.ts";
import { fieldsOf, matches, type Rule, ruleOf } from "./mapping-index.ts";
import { createMatcher } from "./matcher.ts";
import type { Regexes } from "./regex.ts";

// More would not help a person.
const testedMax = 8;

/** A mapping that is not stored; `id` is that of the mapping that it would change. */
export type MappingDraft = MappingParams & { readonly id?: number };

// Above every id of the database.
const firstFileRank = 2 ** 50;

export function openBook(kept: readonly Mapping[], regexes: Regexes, clock: Clock) {
  const rules = new Map(kept.map((mapping) => [mapping.id, ruleOf(mapping, mapping.id)]));
  const loads = new Map(kept.map((mapping) => [mapping.id, loadOf(mapping, regexes)]));
  const matcher = createMatcher([...rules.values()], clock, regexes);
  let ofFiles: readonly FileMapping[] = [];
  let fileRules = new Map<number, Rule>();
  let changes = 0;
  return {
    matcher,
    /** Grows with each change of a mapping of the database. */
    changes: () => changes,
    /** Adds or changes a mapping of the database; without `params`, deletes it. */
    put(id: number, params: MappingParams | undefined): void {
      changes += 1;
      const before = rules.get(id);
      const after = params?.enabled === true ? ruleOf(params, id) : undefined;
      if (after === undefined) rules.delete(id);
      else rules.set(id, after);
      if (params === undefined) loads.delete(id);
      else loads.set(id, loadOf(params, regexes));
      matcher.change(before === undefined ? [] : [before], after === undefined ? [] : [after]);
    },
    /** Deletes some mappings of the database, and adds others, at the same moment. */
    putAll(removed: readonly number[], added: ReadonlyMap<number, MappingParams | undefined>): void {
      changes += 1;
      const old = removed.flatMap((id) => rules.get(id) ?? []);
      for (const id of removed) {
        rules.delete(id);
        loads.delete(id);
      }
      const fresh = new Map<number, Rule>();
      for (const [id, params] of added) {
        if (params === undefined) continue;
        loads.set(id, loadOf(params, regexes));
        if (params.enabled) fresh.set(id, ruleOf(params, id));
      }
      for (const [id, rule] of fresh) rules.set(id, rule);
      matcher.change(old, [...fresh.values()]);
    },
    test(token: TokenParams, draft: MappingDraft | undefined) {
      const { id: draftId = 0 } = draft ?? {};
      const own = draft?.enabled === true ? ruleOf(draft, draftId || firstFileRank - 1) : undefined;
      const isDraft = own !== undefined && matches(own, fieldsOf(token), regexes);
      const replaced = rules.get(draftId);
      const skipped = new Set<Rule>(draft === undefined || replaced === undefined ? [] : [replaced]);
      const found: Rule[] = [];
      while (found.length < testedMax) {
        const rule = matcher.find(token, skipped);
        if (rule === undefined) break;
        skipped.add(rule);
        found.push(rule);
      }
      const all = (isDraft ? [...found, own] : found).sort((a, b) => a.rank - b.rank);
      const idOf = ({ rank }: Rule) => (rank < firstFileRank - 1 ? rank : ofFiles[rank - firstFileRank]?.id);
      return {
        matches: all.slice(0, testedMax).map((rule) => (rule === own ? draftId : (idOf(rule) ?? 0))),
        script: all[0]?.override ?? token.text,
      };
    },
    putFiles(mappings: readonly FileMapping[]): void {
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
    /** The id of another enabled mapping for exactly this UID; undefined if `before` was for this UID, too. */
    twinOf(params: MappingParams, before: Mapping | undefined): number | undefined {
      const uid = uidOf(params);
      if (uid === undefined || (before !== undefined && uidOf(before) === uid)) return undefined;
      for (const [id, { type, match, pattern }] of rules)
        if (id !== before?.id && type === "uid" && match === "exact" && pattern === uid) return id;
      return undefined;
    },
    /** The loads of all mappings of the database except this id. */
    loadsBeside: (id: number | undefined): readonly Load[] =>
      [...loads].filter(([other]) => other !== id).map(([, load]) => load),
  };
}

/** The rule of an enabled mapping of a file: the old rule if nothing changed. */
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

function uidOf({ enabled, type, match, pattern }: MappingParams): string | undefined {
  return enabled && type === "uid" && match === "exact" ? normalizeUid(pattern) : undefined;
}
