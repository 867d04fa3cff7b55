/** Tables of JSON lines are imported as text: see `known-systems.ts`. */
declare module "*.jsonl" {
  const text: string;
  export = text;
}
