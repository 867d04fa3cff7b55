/** The variables of expressions: their names, types and meanings (decisions, "Launch script"). Nothing else is reachable. */

export type ValueType = "text" | "number" | "flag";

export const variables = {
  platform: { type: "text", docs: "What Tapdeck runs on: `linux`." },
  version: { type: "text", docs: "The version of Tapdeck: `1.2.3`." },
  scan_mode: { type: "text", docs: "`tap`, or `hold` where taking the card off stops what it started." },
  "device.hostname": { type: "text", docs: "The name of this device in the network." },
  "device.os": { type: "text", docs: "Its operating system: `linux`." },
  "device.arch": { type: "text", docs: "Its processor: `arm64` or `amd64`." },
  "last_scanned.id": {
    type: "text",
    docs: "The UID of the card that was read last, in lower-case hex. Empty, as the next two, in a script that came over a link or from a caller without the right `change`.",
  },
  "last_scanned.value": { type: "text", docs: "Its text." },
  "last_scanned.data": { type: "text", docs: "Its memory, in lower-case hex." },
  media_playing: { type: "flag", docs: "Whether anything plays." },
  "active_media.launcher_id": {
    type: "text",
    docs: "The player of what plays; empty where nothing does. In the hook `on_stop`, these are of what has ended.",
  },
  "active_media.system_id": { type: "text", docs: "Its system, such as `SNES`." },
  "active_media.system_name": { type: "text", docs: "The same in words." },
  "active_media.path": { type: "text", docs: "Its file." },
  "active_media.name": { type: "text", docs: "Its name." },
  "launching.path": {
    type: "text",
    docs: "In the hook `before_start`: the file that is about to be started; empty elsewhere.",
  },
  "launching.system_id": { type: "text", docs: "In that hook: its system." },
  "launching.launcher_id": { type: "text", docs: "In that hook: its player." },
} as const satisfies Readonly<Record<string, { readonly type: ValueType; readonly docs: string }>>;

export type VariableName = keyof typeof variables;

/** What the variables hold at one moment. */
export type Facts = {
  readonly [Name in VariableName]: (typeof variables)[Name]["type"] extends "flag" ? boolean : string;
};

export const variableNames: readonly string[] = Object.keys(variables);

export function isVariable(name: string): name is VariableName {
  return Object.hasOwn(variables, name);
}
