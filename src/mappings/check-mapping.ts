/** What a mapping may be, said before it is kept: in the words of the field that is wrong, and what to do. */
import { ServiceError } from "../core/errors.ts";
import { fromHex } from "../core/hex.ts";
import { mappingLabelCharsMax, mappingOverrideBytesMax, mappingPatternBytesMax } from "../core/limits.ts";
import type { MappingParams } from "../core/token.ts";
import { normalizeUid } from "../core/token.ts";
import { createRegexes, isFault, type Regexes } from "./regex.ts";

/**
 * Throws `ServiceError("invalid-params")` with `data.field`, and `data.offset` where a regular expression is wrong at
 * a place: UTF-16 units from the start of the pattern.
 */
export function checkMapping(params: MappingParams, regexes = createRegexes()): void {
  const { label, pattern, override } = params;
  if (label.length > mappingLabelCharsMax)
    refuse("label", `it has ${label.length} characters, and ${mappingLabelCharsMax} is the most`);
  if (override === "")
    refuse("override", "it is empty, and would launch nothing: write the text that is to be launched");
  if (Buffer.byteLength(override) > mappingOverrideBytesMax)
    refuse("override", `it is longer than ${mappingOverrideBytesMax} bytes`);
  if (pattern === "") refuse("pattern", "it is empty: write what the token's field is compared with");
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
