/** A launch script as a tree: commands in order, each with its arguments (decisions, "Launch script"). */
export interface Command {
  /** Lower case, as commands are looked up. */
  readonly name: string;
  readonly args: readonly string[];
  /** `?key=value&key=value`, keys as written. */
  readonly options: ReadonlyMap<string, string>;
  /** Where it stands in the script, in UTF-16 units, for messages. */
  readonly offset: number;
  readonly length: number;
}

export type ParsedScript =
  | { readonly kind: "script"; readonly commands: readonly Command[] }
  | { readonly kind: "error"; readonly message: string; readonly offset: number; readonly length: number };
