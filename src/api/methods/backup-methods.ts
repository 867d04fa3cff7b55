/** Backup and restore. The files themselves go over HTTP, at `/backup`. */
import * as v from "valibot";
import {
  backupFileBytesMax,
  backupPartBytesMax,
  backupPassphraseCharsMax,
} from "../../core/console-limits.ts";
import { backupContent, backupFacts, backupPreview } from "../../core/device-shapes.ts";
import { method } from "../method.ts";

const passphrase = v.optional(v.pipe(v.string(), v.maxLength(backupPassphraseCharsMax)));

const offset = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(backupFileBytesMax));

export const backupMethods = [
  method({
    name: "backup",
    right: "own",
    docs: "Makes a backup of settings, mappings, history and positions, which `GET /backup` then downloads, once. With `passphrase` it also holds the paired clients and the keys of the certificate, encrypted; that takes some seconds on a board. With `keep` it stays on the device instead, as one of the last three. `docs/BACKUP.md` describes the file. `leftOut` names what could not be read.",
    params: v.object({ passphrase, keep: v.optional(v.boolean()) }),
    result: backupFacts,
    isLong: true,
    changes: () => "a backup",
    errors: ["conflict", "failed"],
    run: ({ backup }, { passphrase, keep = false }) => backup.make(passphrase, keep ? "update" : undefined),
  }),
  method({
    name: "restore",
    right: "own",
    docs: "Restores the backup with this `sha256`, which `PUT /backup` sent before and returned. It is checked completely, and the present state is kept as the backup `kept` in `folder`. Then the service stops, puts all parts in place, and starts again. After a loss of power at any moment, either the old or the new state is there as a whole. Clients and keys change only with the `passphrase`; a wrong one changes nothing. Ports and addresses of this device stay. For a caller over the network all settings stay that only the config file can change, such as launchers, hooks and the rules of scripts.",
    params: v.object({ sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), passphrase }),
    result: v.object({ ...backupContent.entries, kept: v.string(), folder: v.string() }),
    isLong: true,
    changes: () => "a backup",
    errors: ["conflict", "failed", "not-found"],
    run: ({ backup }, { sha256, passphrase }, { access }) =>
      backup.restore(sha256, passphrase, access !== "device"),
  }),
  method({
    name: "backup.read",
    right: "own",
    docs: "A part of the backup that `backup` has made, from `offset` on, in base64, for callers that cannot use `GET /backup`. `bytes` is its whole length. After the last part it is gone.",
    params: v.object({ offset }),
    result: v.object({ bytes: v.pipe(v.number(), v.integer()), data: v.string() }),
    errors: ["conflict", "failed", "not-found"],
    async run({ backup }, given) {
      const { bytes, data } = await backup.read(given.offset);
      return { bytes, data: Buffer.from(data).toString("base64") };
    },
  }),
  method({
    name: "backup.send",
    right: "own",
    docs: "Sends a part of a backup for `restore`, in base64, for callers that cannot use `PUT /backup`. The first part is at `offset` 0, and each one after it where the one before ended. With `isLast` the answer has the `content` of the backup and the same numbers of the device.",
    params: v.object({
      offset,
      data: v.pipe(
        v.string(),
        v.regex(/^[A-Za-z0-9+/]*={0,2}$/, "it is no base64"),
        v.maxLength(Math.ceil(backupPartBytesMax / 3) * 4),
      ),
      isLast: v.optional(v.boolean()),
    }),
    result: v.object({ content: v.exactOptional(backupPreview) }),
    isLong: true,
    errors: ["conflict", "failed"],
    async run({ backup }, { offset: at, data, isLast = false }, { access }) {
      await backup.send(at, Buffer.from(data, "base64"));
      return isLast ? { content: await backup.preview(access !== "device") } : {};
    },
  }),
] as const;
