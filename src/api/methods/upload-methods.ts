/** Changes of the media folders: `uploads`, `uploads.*`, `media.delete`, `media.move`. */
import * as v from "valibot";
import { messageOf, ServiceError } from "../../core/errors.ts";
import {
  browsePathCharsMax,
  uploadChunkBytesMax,
  uploadFileBytesMax,
  uploadsPerClientMax,
  uploadsPerStartMax,
} from "../../core/limits.ts";
import { count } from "../../core/shapes.ts";
import { method } from "../method.ts";
import { upload } from "../schemas.ts";

const path = v.pipe(v.string(), v.minLength(1), v.maxLength(browsePathCharsMax));
const system = v.pipe(v.string(), v.minLength(1), v.maxLength(128));
const id = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, "it must be the id of an upload"));

export const uploadMethods = [
  method({
    name: "uploads",
    right: "change",
    docs: "The caller's unfinished uploads, each with the `offset` at which it continues, and the free bytes for more. A caller with the right `own` gets those of all clients.",
    result: v.object({ uploads: v.array(upload), freeBytes: count }),
    run: (services, _params, caller) => services.uploads.list(caller),
  }),
  method({
    name: "uploads.systems",
    right: "change",
    docs: "All systems that files can be sent to, with the names of their folders and the extensions of their files. Names of folders are in lower case, without spaces, dashes and accents.",
    result: v.object({
      systems: v.array(
        v.object({
          id: v.string(),
          name: v.string(),
          folders: v.array(v.string()),
          extensions: v.array(v.string()),
        }),
      ),
    }),
    run: (services) => ({ systems: services.uploads.systems() }),
  }),
  method({
    name: "uploads.start",
    right: "change",
    docs: `Declares files to send, or continues them: \`path\` is relative to the folder of \`system\`, and \`size\` is in bytes. The results are in the order of \`files\`. An upload has an \`id\`, and \`offset\` is the end of the bytes that are on the device: \`PUT /uploads/{id}?offset={offset}\` sends the next ones, up to ${uploadChunkBytesMax} at a time, and answers \`{"offset": N}\`. Then \`uploads.finish\` makes it a media file. \`key\` seals the bytes for a connection without TLS; each start makes another one. A file that is refused has \`refused\`, a sentence; \`exists\` is true if it is there already and \`replace\` is not set; \`limit\` names a limit that was reached. A remote caller sends only files that a launcher of the system accepts, no programs, and nothing that a launcher would run; up to ${uploadsPerClientMax} uploads of one client are unfinished. Only their sender and callers with \`own\` continue, finish or cancel them. An unfinished upload is kept for a week.`,
    params: v.object({
      files: v.pipe(
        v.array(
          v.object({
            system,
            path,
            size: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(uploadFileBytesMax)),
            replace: v.optional(v.boolean(), false),
          }),
        ),
        v.minLength(1),
        v.maxLength(uploadsPerStartMax),
      ),
    }),
    result: v.object({
      uploads: v.array(
        v.union([
          v.object({ ...upload.entries, key: v.string() }),
          v.object({
            refused: v.string(),
            refusal: v.exactOptional(v.string()),
            exists: v.exactOptional(v.literal(true)),
            limit: v.exactOptional(v.string()),
          }),
        ]),
      ),
    }),
    changes: ({ files: [first, ...more] }) =>
      `upload ${first?.system}/${first?.path}${more.length === 0 ? "" : ` and ${more.length} more`}`,
    errors: ["busy", "failed"],
    async run(services, { files }, caller) {
      const uploads = [];
      for (const file of files) {
        try {
          uploads.push(await services.uploads.start(file, caller));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const { exists, limit, refusal } = error.data ?? {};
          const isThere = exists === true ? { exists: true as const } : {};
          const reached = typeof limit === "string" ? { limit } : {};
          uploads.push({
            refused: messageOf(error),
            ...(typeof refusal === "string" && { refusal }),
            ...isThere,
            ...reached,
          });
        }
      }
      return { uploads };
    },
  }),
  method({
    name: "uploads.finish",
    right: "change",
    isLong: true,
    docs: "Checks the SHA-256 of the whole file, and makes it a media file. It is on the disk before the answer, and in the index some seconds later. If bytes are missing or the hash differs, the error is `failed`, and `data.offset` is the place to continue from. The first bytes of a program are refused as its name is.",
    params: v.object({
      id,
      sha256: v.pipe(v.string(), v.regex(/^[0-9a-fA-F]{64}$/, "it must be 64 hex characters")),
    }),
    result: v.object({ path: v.string() }),
    errors: ["not-found", "conflict", "forbidden", "failed"],
    run: (services, { id, sha256 }, caller) => services.uploads.finish(id, sha256, caller),
  }),
  method({
    name: "uploads.cancel",
    right: "change",
    docs: "Deletes an unfinished upload.",
    params: v.object({ id }),
    errors: ["not-found", "forbidden", "failed"],
    run: (services, { id }, caller) => services.uploads.cancel(id, caller),
  }),
  method({
    name: "media.delete",
    right: "change",
    docs: "Deletes a media file, and its pictures unless another file also shows them. `path` is that of an entry or result. The file is gone before the answer, and leaves the index some seconds later. A name in another spelling is another file, and of a link only the link is deleted.",
    params: v.object({ path }),
    changes: ({ path }) => `delete ${path}`,
    errors: ["not-found", "failed"],
    run: (services, { path }) => services.uploads.remove(path),
  }),
  method({
    name: "media.move",
    right: "change",
    docs: "Moves a media file to the folder of another system in the same media folder, and its pictures unless another file also shows them. The folders below the system's stay the same. The other system must accept the file as an upload. Answers with the new path.",
    params: v.object({ path, system }),
    result: v.object({ path: v.string() }),
    changes: ({ path, system }) => `move ${path} to ${system}`,
    errors: ["not-found", "conflict", "forbidden", "failed"],
    run: (services, { path, system }, caller) => services.uploads.move(path, system, caller),
  }),
] as const;
