/** Values for a JSON Schema: most are valid, and the others are nearly valid, or arbitrary. */
import fc from "fast-check";

export interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Params for a method. Each field is valid, missing, or odd. */
export function paramsFor(
  schema: JsonSchema,
  own: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const fitting = own[name] ?? valueFor(field);
    const chance = fc.oneof(
      { weight: 12, arbitrary: fitting.map((value) => [[name, value]]) },
      { weight: 6, arbitrary: fc.constant([]) },
      { weight: 2, arbitrary: odd(field, own[name] !== undefined).map((value) => [[name, value]]) },
    );
    return chance;
  });
  return fc.tuple(...fields).map((parts) => Object.fromEntries(parts.flat()));
}

function valueFor(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case "string":
      return textFor(schema);
    case "integer":
      return fc.integer({ min: schema.minimum ?? -1000, max: Math.min(schema.maximum ?? 1000, 2 ** 31 - 1) });
    case "number":
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(valueFor(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 3, 3) });
    case "object":
      return paramsFor(schema, {});
  }
  return schema.anyOf === undefined ? fc.jsonValue() : fc.oneof(...schema.anyOf.map(valueFor));
}

function textFor({ format, pattern, minLength = 0, maxLength = 40 }: JsonSchema): fc.Arbitrary<string> {
  if (format === "date-time")
    return fc
      .integer({ min: 0, max: 4_000_000_000 })
      .map((seconds) => new Date(seconds * 1000).toISOString());
  if (pattern?.includes("0-9a-fA-F")) return fc.uint8Array({ maxLength: 8 }).map((bytes) => bytes.toHex());
  if (pattern?.includes("\\d")) return fc.integer({ min: 0, max: 99 }).map(String);
  return fc.string({ minLength, maxLength: Math.min(maxLength, 40), unit: "grapheme-ascii" });
}

/**
 * A value just past a limit, or of another type. With `scalar` it is no list and no object, because these might satisfy a
 * rule between fields.
 */
function odd({ type, maxLength, maximum, minimum }: JsonSchema, scalar: boolean): fc.Arbitrary<unknown> {
  if (scalar) return fc.constantFrom(...["", 0, 1.5, null, true].filter((value) => typeof value !== type));
  const past: unknown[] = [];
  if (maxLength !== undefined) past.push("a".repeat(maxLength), "a".repeat(maxLength + 1));
  if (maximum !== undefined) past.push(maximum, maximum + 1);
  if (minimum !== undefined) past.push(minimum, minimum - 1);
  const rubbish = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("", 0, -1, 1.5, null, [], {}, true),
  );
  return past.length === 0 ? rubbish : fc.oneof(rubbish, fc.constantFrom(...past));
}
