/** Checks a mapping before it is stored: its fields, and the cost that it adds to each tap. */
import { ServiceError } from "../core/errors.ts";
import { fromHex } from "../core/hex.ts";
import {
  mappingLabelCharsMax,
  mappingOverrideBytesMax,
  mappingPatternBytesMax,
  mappingsCharsMax,
  mappingsMax,
  partialCharsMax,
  regexCostMax,
} from "../core/limits.ts";
import { type MappingParams, normalizeUid } from "../core/token.ts";
import { costOf, createRegexes, isFault, type Regexes } from "./regex.ts";

/** Throws `ServiceError("invalid-params")` with `data.field`, and `data.offset` in UTF-16 units of a regular expression. */
export function checkMapping(params: MappingParams, regexes = createRegexes()): void {
  const { label, pattern, override } = params;
  if (label.length > mappingLabelCharsMax)
    refuse("label", `it has ${label.length} characters, and ${mappingLabelCharsMax} is the most`);
  if (override === "")
    refuse("override", "it is empty, and would launch nothing: write the text that is to be launched");
  if (Buffer.byteLength(override) > mappingOverrideBytesMax)
    refuse("override", `it is longer than ${mappingOverrideBytesMax} bytes`);
  if (pattern === "") refuse("pattern", "it is empty: write a text to compare the token's field with");
  if (Buffer.byteLength(pattern) > mappingPatternBytesMax)
    refuse("pattern", `it is longer than ${mappingPatternBytesMax} bytes`);
  if (params.match === "regex") checkRegex(pattern, regexes);
  else if (params.type !== "text") checkHexLike(params);
}

function checkHexLike({ type, match, pattern }: MappingParams): void {
  const normal = normalizeUid(pattern);
  if (normal === "")
    refuse("pattern", "nothing is left of it without spaces and colons, which are not compared");
  if (type === "data" && match === "exact" && fromHex(normal) === undefined)
    refuse(
      "pattern",
      "data is bytes in hexadecimal, two digits 0-9 or a-f each, and this can never equal any",
    );
}

function checkRegex(pattern: string, regexes: Regexes): void {
  const fault = regexes.get(pattern);
  if (!isFault(fault)) return;
  if (fault.offset === undefined) refuse("pattern", fault.sentence);
  const { offset, sentence } = fault;
  refuse("pattern", `at offset ${offset}, ${sentence}`, { offset });
}

function refuse(
  field: keyof MappingParams,
  sentence: string,
  facts: { readonly offset?: number } = {},
): never {
  throw new ServiceError("invalid-params", `${field}: ${sentence}`, { data: { field, ...facts } });
}

/** Throws `ServiceError("busy")` if a tap has no time left for one more mapping beside the others. */
export function checkLoad(load: Load, others: readonly Load[]): void {
  const sum = sumOf(others);
  const left = {
    regexCost: Math.max(0, regexCostMax - sum.regexCost),
    partialChars: Math.max(0, partialCharsMax - sum.partialChars),
  };
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
}

/** The reason why the mappings of files are too many or too costly, or undefined. They have limits of their own. */
export async function admitted(
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

/** The cost of an enabled mapping for each tap, and of its memory. */
export interface Load {
  readonly regexCost: number;
  readonly partialChars: number;
}

export function loadOf({ enabled, match, pattern }: MappingParams, regexes: Regexes): Load {
  if (!enabled || match === "exact") return { regexCost: 0, partialChars: 0 };
  if (match === "partial") return { regexCost: 0, partialChars: pattern.length };
  const regex = regexes.get(pattern);
  return { regexCost: isFault(regex) ? 0 : costOf(regex), partialChars: 0 };
}

function sumOf(loads: readonly Load[]): Load {
  return {
    regexCost: loads.reduce((sum, { regexCost }) => sum + regexCost, 0),
    partialChars: loads.reduce((sum, { partialChars }) => sum + partialChars, 0),
  };
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
