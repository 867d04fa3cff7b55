// Covers: src/store/open.ts.
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, clean } = createStores();
afterEach(clean);

const child = join(import.meta.dir, "../../programs/store-child.ts");
// A separate disk, which only the child sees and which disappears with it.
const inSmallDisk = (folder: string, ...argv: string[]) =>
  Bun.spawnSync([
    ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
    ...['mount -t tmpfs -o size=512k tmpfs "$0" && exec "$@"', folder, ...argv],
  ]);
const canMount = Bun.which("unshare") !== null && inSmallDisk("/tmp", "true").exitCode === 0;

// Without the right to mount a disk, the test has none to fill.
test.skipIf(!canMount)(
  "a full disk refuses what people make, reads on, and heals once there is space",
  () => {
    const folder = newFolder();
    const { stdout, stderr, exitCode } = inSmallDisk(folder, process.execPath, child, "fill", folder);
    expect(stderr.toString()).toBe("");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout.toString())).toEqual({
      refusal: { code: "failed", message: "the disk is full: free some space, then try again", added: false },
      seen: ["first"],
      health: "the disk is full: free some space, then try again",
      after: 2,
      rows: 1,
      healthAfter: "",
    });
  },
);

test.skipIf(!canMount)(
  "a start on a full disk reads what is there, and writes again once there is space",
  () => {
    const folder = newFolder();
    const { stdout, stderr } = inSmallDisk(folder, process.execPath, child, "start-full", folder);
    expect(stderr.toString()).toBe("");
    expect(JSON.parse(stdout.toString())).toEqual({
      seen: ["first"],
      refusal: "the disk is full: free some space, then try again",
      after: ["first", "later"],
      health: "",
    });
  },
);
