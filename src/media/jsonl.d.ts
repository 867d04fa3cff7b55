/** Tables of JSON lines are imported as text: `systems.ts` says why. */
declare module "*.jsonl" {
  const text: string;
  export = text;
}
