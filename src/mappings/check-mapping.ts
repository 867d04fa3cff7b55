/** Checks a mapping before it is stored: its fields, and the number of mappings that a tap compares one by one. */
import { coded, ServiceError } from "../core/errors.ts";
import { fromHex } from "../core/hex.ts";
import {
  mappingLabelCharsMax,
  mappingOverrideBytesMax,
  mappingPatternBytesMax,
  mappingsCharsMax,
  mappingsMax,
  partialMappingsMax,
  patternFieldCharsMax,
  regexMappingsMax,
} from "../core/limits.ts";
import type { RefusalCode } from "../core/refusals.ts";
import { type MappingParams, normalizeUid } from "../core/token.ts";
import { createRegexes, isFault, type Regexes } from "./regex.ts";

/** Throws `ServiceError("invalid-params")` with `data.field`, and `data.offset` in UTF-16 units of a regular expression. */
export function checkMapping(params: MappingParams, regexes = createRegexes()): void {
  const { label, pattern, override } = params;
  if (label.length > mappingLabelCharsMax)
    refuse("label", `it has ${label.length} characters, and ${mappingLabelCharsMax} is the most`, {
      refusal: "mapping-too-long",
      max: mappingLabelCharsMax,
    });
  if (override === "")
    refuse("override", "it is empty, and would launch nothing: write the text that is to be launched", {
      refusal: "mapping-empty",
    });
  if (Buffer.byteLength(override) > mappingOverrideBytesMax)
    refuse("override", `it is longer than ${mappingOverrideBytesMax} bytes`, {
      refusal: "mapping-too-long",
      max: mappingOverrideBytesMax,
    });
  if (pattern === "")
    refuse("pattern", "it is empty: write a text to compare the token's field with", {
      refusal: "mapping-empty",
    });
  if (Buffer.byteLength(pattern) > mappingPatternBytesMax)
    refuse("pattern", `it is longer than ${mappingPatternBytesMax} bytes`, {
      refusal: "mapping-too-long",
      max: mappingPatternBytesMax,
    });
  if (params.match === "partial" && pattern.length > patternFieldCharsMax)
    refuse(
      "pattern",
      `it has ${pattern.length} characters, and a partial pattern is looked for in the first ${patternFieldCharsMax} of a field: shorten it`,
      { refusal: "mapping-too-long", max: patternFieldCharsMax },
    );
  if (params.match === "regex") checkRegex(pattern, regexes);
  else if (params.type !== "text") checkHexLike(params);
}

function checkHexLike({ type, match, pattern }: MappingParams): void {
  const normal = normalizeUid(pattern);
  if (normal === "")
    refuse("pattern", "nothing is left of it without spaces and colons, which are not compared", {
      refusal: "mapping-not-hex",
    });
  if (type === "data" && match === "exact" && fromHex(normal) === undefined)
    refuse(
      "pattern",
      "data is bytes in hexadecimal, two digits 0-9 or a-f each, and this can never equal any",
      { refusal: "mapping-not-hex" },
    );
}

function checkRegex(pattern: string, regexes: Regexes): void {
  const fault = regexes.get(pattern);
  if (!isFault(fault)) return;
  if (fault.offset === undefined) refuse("pattern", fault.sentence, { refusal: "mapping-regex" });
  const { offset, sentence } = fault;
  refuse("pattern", `at offset ${offset}, ${sentence}`, { refusal: "mapping-regex-at", offset });
}

function refuse(
  field: keyof MappingParams,
  sentence: string,
  { refusal, ...facts }: { readonly refusal: RefusalCode; readonly offset?: number; readonly max?: number },
): never {
  throw coded(
    refusal,
    new ServiceError("invalid-params", `${field}: ${sentence}`, { data: { field } }),
    facts,
  );
}

/** The number of enabled mappings that a tap compares one by one. */
export interface Compared {
  readonly regex: number;
  readonly partial: number;
}

export function comparedOf(enabled: readonly Pick<MappingParams, "match">[]): Compared {
  const count = (kind: keyof Compared) => enabled.filter(({ match }) => match === kind).length;
  return { regex: count("regex"), partial: count("partial") };
}

const comparedLimits = {
  regex: { limit: "regexMappingsMax", max: regexMappingsMax, kind: "a regular expression" },
  partial: { limit: "partialMappingsMax", max: partialMappingsMax, kind: "a partial pattern" },
} as const satisfies Record<keyof Compared, unknown>;

/** The limit that would be exceeded by one more mapping beside the others; undefined if the mapping fits. */
export function fullLimit({ enabled, match }: MappingParams, others: Compared) {
  if (!enabled || match === "exact") return undefined;
  const full = comparedLimits[match];
  return others[match] >= full.max ? full : undefined;
}

/** Throws `ServiceError("busy")` if a tap has no time left for one more mapping beside the others. */
export function checkRoom(params: MappingParams, others: Compared): void {
  const full = fullLimit(params, others);
  if (full === undefined) return;
  const { limit, max, kind } = full;
  const sentence = `match: ${max} enabled mappings with ${kind} are there already, and more would delay taps: switch one off, delete one, or use an exact pattern`;
  throw coded("mapping-compared", busy(sentence, limit, { field: "match" }), { max });
}

/** The reason why the files have too many mappings; undefined if they have not. Files have limits of their own. */
export function tooManyInFiles(mappings: readonly MappingParams[]): string | undefined {
  if (mappings.length > mappingsMax)
    return `with this file, the files hold more than ${mappingsMax} mappings`;
  const chars = mappings.reduce((sum, mapping) => sum + charsOf(mapping), 0);
  if (chars > mappingsCharsMax)
    return `with this file, the texts in the files have more than ${mappingsCharsMax} characters`;
  const counts = comparedOf(mappings.filter(({ enabled }) => enabled));
  for (const match of ["regex", "partial"] as const) {
    const { limit, max, kind } = comparedLimits[match];
    if (counts[match] > max)
      return `with this file, the files hold ${counts[match]} enabled mappings with ${kind}, and ${max} is the most (${limit}): switch some off, or use exact patterns`;
  }
  return undefined;
}

export function charsOf({ label, pattern, override }: MappingParams): number {
  return label.length + pattern.length + override.length;
}

export function busy(
  sentence: string,
  limit: string,
  facts: Readonly<Record<string, unknown>> = {},
): ServiceError {
  return new ServiceError("busy", sentence, { data: { limit, ...facts } });
}
