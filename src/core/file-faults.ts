/** The refusals of the file system in plain words, for people who typed a path. */
import { codeOf, messageOf } from "./errors.ts";

const sentences: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  EEXIST: "there is a file already",
  EISDIR: "it is a folder, and should be a file",
  ENOTDIR: "a file is in the place of a folder",
  EACCES: "the permission for it is missing",
  EPERM: "the permission for it is missing",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  ENAMETOOLONG: "its name is too long",
};

/** A sentence for the refusal, without the path; the message of any other error. */
export function fileFault(error: unknown): string {
  return sentences[codeOf(error)] ?? messageOf(error);
}

/** True for a refusal of the file system. */
export function isFileFault(error: unknown): error is Error & { readonly syscall: string } {
  return error instanceof Error && "syscall" in error && typeof error.syscall === "string";
}

/** The refusal with its path, `../cards.key: there is a file already`; the message of any other error. */
export function pathAndFault(error: unknown): string {
  const path = error instanceof Error && "path" in error ? `${error.path}: ` : "";
  return isFileFault(error) ? `${path}${fileFault(error)}` : messageOf(error);
}
