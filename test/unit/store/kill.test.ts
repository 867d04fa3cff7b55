// Covers: src/store/open.ts, src/store/database-copy.ts.
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { verify } from "../../../src/store/database-copy.ts";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, clean } = createStores();
afterEach(clean);

const child = join(import.meta.dir, "../../programs/store-child.ts");
const kills = 100;
const lanes = 2;

test(`of a process killed at ${kills} random moments, every acknowledged change is there`, async () => {
  // Two run at a time, each in its own folder for all its kills.
  const linesAsked = fc.sample(fc.integer({ min: 0, max: 60 }), { numRuns: kills, seed: 7 });
  const runLane = async (lane: number) => {
    const folder = newFolder();
    const known = new Set<string>();
    let changes = 0;
    for (const [number, lines] of linesAsked.entries()) {
      if (number % lanes !== lane) continue;
      const said = await killedAfter(lines, [process.execPath, child, "change", folder, `${number}`]);
      changes += said.filter((line) => !line.startsWith("?")).length;
      compare(folder, known, said);
    }
    return changes;
  };
  const changes = await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)));
  expect(Math.min(...changes)).toBeGreaterThan(kills);
});

/** Runs until this many lines came, kills the process, and returns all of its output. */
async function killedAfter(lines: number, argv: string[]): Promise<string[]> {
  const running = Bun.spawn(argv, { stdout: "pipe", stderr: "pipe" });
  const decoder = new TextDecoder();
  let said = "";
  if (lines === 0) running.kill("SIGKILL");
  for await (const bytes of running.stdout) {
    said += decoder.decode(bytes, { stream: true });
    if (said.split("\n").length > lines) running.kill("SIGKILL");
  }
  await running.exited;
  // No database was set aside or made again meanwhile.
  expect(await new Response(running.stderr).text()).toBe("");
  return said.split("\n").slice(0, -1);
}

/** Compares the file with the acknowledged changes. The one change without an answer may also be in it. */
function compare(folder: string, known: Set<string>, said: readonly string[]): void {
  for (const line of said) apply(known, line);
  const path = join(folder, "tapdeck.db");
  if (!existsSync(path)) {
    expect(known.size).toBe(0);
    return;
  }
  using database = new Database(path);
  const there = idsIn(database);
  const open = said.at(-1);
  if (open?.startsWith("?")) {
    const id = open.slice(2);
    if (there.has(id)) known.add(id);
    else known.delete(id);
  }
  expect([...there].sort()).toEqual([...known].sort());
  if (existsSync(`${path}.backup`)) verify(`${path}.backup`);
}

function apply(known: Set<string>, line: string): void {
  if (line.startsWith("+")) known.add(line.slice(1));
  if (line.startsWith("-")) known.delete(line.slice(1));
}

function idsIn(database: Database): Set<string> {
  if (database.query("SELECT 1 FROM sqlite_schema WHERE name = 'clients'").get() === null) return new Set();
  const all = "SELECT id FROM clients UNION ALL SELECT label FROM mappings";
  return new Set(
    database
      .query<{ id: string }, []>(all)
      .all()
      .map(({ id }) => id),
  );
}
