/** A launch script as a tree: commands in order, each with its arguments (decisions, "Launch script"). */
import type { Expression } from "./expression.ts";

/** What an argument or an option says: letters, and expressions among them. No two texts stand side by side, none is empty. */
export type Text = readonly (string | Expression)[];

export interface Command {
  /** Lower case, as commands are looked up. */
  readonly name: string;
  readonly args: readonly Text[];
  /** `?key=value&key=value`, keys as written; where a key is given twice, the last one counts. */
  readonly options: ReadonlyMap<string, Text>;
  /** Where it stands in the script, in UTF-16 units, for messages. */
  readonly offset: number;
  readonly length: number;
}

export type ParsedScript =
  | { readonly kind: "script"; readonly commands: readonly Command[] }
  | { readonly kind: "error"; readonly message: string; readonly offset: number; readonly length: number };
