/** Every migration, in order; its place is its number. Earlier ones are never edited. */
import { history } from "./0001-history.ts";

export const migrations: readonly string[] = [history];
