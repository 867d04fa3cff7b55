/**
 * All enabled mappings, of the database and of files, and the one that counts for a token. Exact patterns are keys of a map.
 * Partial patterns and regular expressions are compared one by one, in the order of rank. Their number is limited.
 */
import type { FileMapping } from "../config/mapping-files.ts";
import type { Mapping, MappingMatch, MappingParams, MappingType, TokenParams } from "../core/token.ts";
import { type Compared, comparedOf } from "./check-mapping.ts";
import { fieldsOf, isOfUid, matches, patternOf, type Rule, ruleOf } from "./mapping-rules.ts";
import type { Regexes } from "./regex.ts";

// `test` lists at most this many matches, because a person reads no more.
const testedMax = 8;

/** A mapping that is not stored; `id` is that of the mapping that it would change. */
export type MappingDraft = MappingParams & { readonly id?: number };

// The rank of the first mapping of files, above every id of the database.
const firstFileRank = 2 ** 50;
const newDraftRank = firstFileRank - 1;

export type MappingLookup = ReturnType<typeof createMappingLookup>;

export function createMappingLookup(regexes: Regexes) {
  // The mappings of the database by id, which is also the rank.
  const stored = new Map<number, Rule>();
  let ofFiles: readonly FileMapping[] = [];
  let fileRules: readonly Rule[] = [];
  // The rules of both lists above, in the order of rank.
  const exact: Readonly<Record<MappingType, Map<string, readonly Rule[]>>> = {
    uid: new Map(),
    text: new Map(),
    data: new Map(),
  };
  let partial: readonly Rule[] = [];
  let regex: readonly Rule[] = [];
  let changes = 0;

  const change = (gone: readonly Rule[], fresh: readonly Rule[]) => {
    const leaving = new Set(gone);
    const changed = (rules: readonly Rule[], added: readonly Rule[]) =>
      [...rules.filter((rule) => !leaving.has(rule)), ...added].sort(byRank);
    for (const type of mappingTypes) {
      const isExact = (rule: Rule) => rule.match === "exact" && rule.type === type;
      const added = Map.groupBy(fresh.filter(isExact), ({ pattern }) => pattern);
      for (const pattern of new Set([...gone.filter(isExact).map((rule) => rule.pattern), ...added.keys()])) {
        const rules = changed(exact[type].get(pattern) ?? [], added.get(pattern) ?? []);
        if (rules.length === 0) exact[type].delete(pattern);
        else exact[type].set(pattern, rules);
      }
    }
    const addedOf = (match: MappingMatch) => fresh.filter((rule) => rule.match === match);
    partial = changed(partial, addedOf("partial"));
    regex = changed(regex, addedOf("regex"));
  };
  const idOf = ({ rank }: Rule) => (rank < firstFileRank ? rank : ofFiles[rank - firstFileRank]?.id);

  return {
    /** The rule of the lowest rank that matches. The function is fast, because a tap waits for it. */
    find(token: TokenParams): Rule | undefined {
      const fields = fieldsOf(token);
      let best: Rule | undefined;
      for (const type of mappingTypes) {
        const { whole } = fields[type];
        if (whole !== "") best = earlier(best, exact[type].get(whole)?.[0]);
      }
      for (const rules of [partial, regex]) {
        const below = best?.rank ?? Number.POSITIVE_INFINITY;
        best = earlier(
          best,
          rules.find((rule) => rule.rank > below || matches(rule, fields)),
        );
      }
      return best;
    },
    /** Adds or changes mappings of the database in one step. A mapping without params is deleted. */
    put(mappings: ReadonlyMap<number, MappingParams | undefined>): void {
      changes += 1;
      const gone = [...mappings.keys()].flatMap((id) => stored.get(id) ?? []);
      const fresh: Rule[] = [];
      for (const [id, params] of mappings) {
        stored.delete(id);
        if (params?.enabled !== true) continue;
        const rule = ruleOf(params, id, regexes);
        stored.set(id, rule);
        fresh.push(rule);
      }
      change(gone, fresh);
    },
    /** A number that grows with each change of a mapping of the database. */
    changes: () => changes,
    putFiles(mappings: readonly FileMapping[]): void {
      const fresh = mappings.flatMap((mapping, place) =>
        mapping.enabled ? [ruleOf(mapping, firstFileRank + place, regexes)] : [],
      );
      change(fileRules, fresh);
      ofFiles = mappings;
      fileRules = fresh;
    },
    ofFiles: () => ofFiles,
    /** The mappings that match, the one that counts first, and the text to launch. The draft counts as stored. */
    test(token: TokenParams, draft: MappingDraft | undefined) {
      const fields = fieldsOf(token);
      const { id: draftId = 0 } = draft ?? {};
      const own = draft?.enabled === true ? ruleOf(draft, draftId || newDraftRank, regexes) : undefined;
      const replaced = draft === undefined ? undefined : stored.get(draftId);
      const candidates = [
        ...mappingTypes.flatMap((type) => exact[type].get(fields[type].whole) ?? []),
        ...partial,
        ...regex,
        ...(own === undefined ? [] : [own]),
      ];
      const found = candidates
        .filter((rule) => rule !== replaced && matches(rule, fields))
        .sort(byRank)
        .slice(0, testedMax);
      return {
        matches: found.map((rule) => (rule === own ? draftId : (idOf(rule) ?? 0))),
        script: found[0]?.override ?? token.text,
      };
    },
    /**
     * The id of another enabled mapping for exactly this UID; undefined if the mapping was for this UID already in
     * `before`.
     */
    twinOf(params: MappingParams, before: Mapping | undefined): number | undefined {
      if (!isOfUid(params)) return undefined;
      const uid = patternOf(params);
      if (before !== undefined && isOfUid(before) && patternOf(before) === uid) return undefined;
      return exact.uid.get(uid)?.find(({ rank }) => rank < firstFileRank && rank !== before?.id)?.rank;
    },
    /** The numbers of the mappings of the database that are compared one by one, without the mapping of this id. */
    comparedBeside: (id: number | undefined): Compared =>
      comparedOf([...partial, ...regex].filter(({ rank }) => rank < firstFileRank && rank !== id)),
  };
}

const mappingTypes: readonly MappingType[] = ["uid", "text", "data"];

/** The rule with the lower rank; if only one of the two matches, that rule. */
function earlier(best: Rule | undefined, other: Rule | undefined): Rule | undefined {
  return other === undefined || (best !== undefined && best.rank < other.rank) ? best : other;
}

function byRank(a: Rule, b: Rule): number {
  return a.rank - b.rank;
}
