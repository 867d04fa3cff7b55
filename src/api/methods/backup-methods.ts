/** Backup and restore. The files themselves go over HTTP, at `/backup`. */
import * as v from "valibot";
import { backupPassphraseCharsMax } from "../../core/console-limits.ts";
import { backupContent, backupFacts } from "../../core/device-shapes.ts";
import { method } from "../method.ts";

const passphrase = v.optional(v.pipe(v.string(), v.maxLength(backupPassphraseCharsMax)));

export const backupMethods = [
  method({
    name: "backup",
    right: "own",
    docs: "Makes a backup of settings, mappings, history and positions, which `GET /backup` then downloads, once. With `passphrase` it also holds the paired clients and the keys of the certificate, encrypted; that takes some seconds on a board. With `keep` it stays on the device instead, as one of the last three. `docs/BACKUP.md` describes the file. `leftOut` names what could not be read.",
    params: v.object({ passphrase, keep: v.optional(v.boolean()) }),
    result: backupFacts,
    isLong: true,
    errors: ["conflict", "failed"],
    run: ({ backup }, { passphrase, keep = false }) => backup.make(passphrase, keep ? "update" : undefined),
  }),
  method({
    name: "restore",
    right: "own",
    docs: "Restores the backup with this `sha256`, which `PUT /backup` sent before and returned. It is checked completely, and the present state is kept as the backup `kept` in `folder`. Then the service stops, puts all parts in place, and starts again. After a loss of power at any moment, either the old or the new state is there as a whole. Clients and keys change only with the `passphrase`; a wrong one changes nothing. Ports and addresses of this device stay.",
    params: v.object({ sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), passphrase }),
    result: v.object({ ...backupContent.entries, kept: v.string(), folder: v.string() }),
    isLong: true,
    errors: ["conflict", "failed", "not-found"],
    run: ({ backup }, { sha256, passphrase }) => backup.restore(sha256, passphrase),
  }),
] as const;
