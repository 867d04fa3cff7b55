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
