/**
 * The OpenRPC document of the API (spec.open-rpc.org, version 1.3.2), made from the methods and notifications. A notification
 * is a method without a result that the service calls.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { type ErrorCode, rpcCodes } from "../core/errors.ts";
import type { Right } from "../core/rights.ts";
import type { Method } from "./method.ts";
import { methods } from "./methods/index.ts";
import { notifications } from "./notifications.ts";
import { ruleSchemas } from "./schemas.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

export type DescribedMethod = {
  readonly name: string;
  readonly description: string;
  readonly paramStructure: "by-name" | "either";
  readonly params: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly schema: JsonSchema;
  }[];
  readonly result?: { readonly name: string; readonly schema: JsonSchema };
  readonly errors?: readonly { readonly code: number; readonly message: string }[];
  readonly tags?: readonly { readonly name: string }[];
  /** The right to call the method, or to receive the notification. */
  readonly "x-right": Right;
  /** The params as one object. Only this object states the rules between params, such as "at least one of". */
  readonly "x-params": JsonSchema;
  /** The param that a bare string as params sets. */
  readonly "x-shorthand"?: string;
};

/** `version` is the version of the service. */
export function describeApi(version: string) {
  return {
    openrpc: "1.3.2",
    info: {
      title: "Tapdeck",
      version,
      description: "The control API of Tapdeck: tap a card, and the game, song or film on it starts.",
      license: { name: "MIT" },
    },
    servers: [{ name: "WebSocket", url: "ws://localhost:7497/api/v0.1" }],
    methods: [...methods.flatMap((method: Method) => described(method)), ...describedNotifications()],
  };
}

function described(method: Method): DescribedMethod[] {
  const params = schemaOf(method.params, "input");
  const one: DescribedMethod = {
    name: method.name,
    description: method.docs,
    tags: [{ name: `right: ${method.right}` }],
    "x-right": method.right,
    paramStructure: "either",
    params: paramsOf(params),
    result: { name: "result", schema: schemaOf(method.result, "input") },
    errors: ["invalid-params" as const, ...(method.errors ?? [])].map((code: ErrorCode) => ({
      code: rpcCodes[code],
      message: code,
    })),
    "x-params": params,
    ...(method.shorthand === undefined ? {} : { "x-shorthand": method.shorthand }),
  };
  const alias = (name: string) => ({ ...one, name, description: `Another name of \`${method.name}\`.` });
  return [one, ...(method.aliases ?? []).map(alias)];
}

function describedNotifications(): DescribedMethod[] {
  return Object.entries(notifications).map(([name, { docs, params, right }]) => {
    const schema = schemaOf(params, "output");
    return {
      name,
      description: docs,
      tags: [{ name: "notification" }, { name: `right: ${right}` }],
      "x-right": right,
      paramStructure: "by-name",
      params: paramsOf(schema),
      "x-params": schema,
    };
  });
}

function paramsOf(schema: JsonSchema): DescribedMethod["params"] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries((schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>).map(
    ([name, one]) => ({ name, required: required.has(name), schema: one }),
  );
}

const safeInteger = {
  type: "integer",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
} as const;

function schemaOf(schema: v.GenericSchema, typeMode: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    target: "draft-07",
    typeMode,
    // Some rules in code have an equivalent in JSON Schema, which is registered in `ruleSchemas`.
    overrideAction: ({ valibotAction, jsonSchema }) => {
      const rule = valibotAction.type === "safe_integer" ? safeInteger : ruleSchemas.get(valibotAction);
      return rule === undefined ? undefined : { ...jsonSchema, ...rule };
    },
    ignoreActions: ["transform"],
  });
  return rest;
}
