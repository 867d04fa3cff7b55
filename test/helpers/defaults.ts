/** Values for tests that need no others: the default config, and an audit log that keeps nothing. */
import { type Config, configOfTable } from "../../src/config/shape.ts";
import type { Audit } from "../../src/core/audit.ts";

/** The default config. `rootFolders` is empty here, because its default depends on the data folder. */
export const defaultConfig: Config = configOfTable({}, []);

export const silentAudit: Audit = { note() {}, refused() {}, launched() {}, changed() {} };
