/** Stores in folders of their own, for tests: all are closed and deleted by `clean`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store, type StoreOptions } from "../../src/store/open.ts";

export interface Stores {
  newFolder(): string;
  open(folder: string, options?: StoreOptions): Store;
  close(store: Store): void;
  clean(): void;
}

export function createStores(): Stores {
  const folders: string[] = [];
  const stores: Store[] = [];
  return {
    newFolder() {
      const folder = mkdtempSync(join(tmpdir(), "tapdeck-store-"));
      folders.push(folder);
      return folder;
    },
    open(folder, options = {}) {
      const store = openStore(folder, options);
      stores.push(store);
      return store;
    },
    close(store) {
      stores.splice(stores.indexOf(store), 1);
      store.close();
    },
    clean() {
      for (const store of stores.splice(0)) store.close();
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
    },
  };
}

/** Awaits what happens behind the caller; fails after five seconds. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`it did not come to hold: ${holds}`);
    await Bun.sleep(2);
  }
}
