/**
 * What archivists write behind a title: `Super Mario World (USA) (Rev 1) [!]` is the title `Super Mario World` with the
 * tags `USA`, `Rev 1` and `!`. Regions, languages, versions, discs, dumps: whatever stands in brackets.
 */

export interface Title {
  readonly title: string;
  /** In their order, each once; lists such as `(En,Fr)` are taken apart. */
  readonly tags: readonly string[];
}

/** Takes a name without its extension apart. What has nothing before its first bracket is all title. */
export function titleOf(name: string): Title {
  const cut = name.search(/\s*[([]/);
  const title = cut > 0 ? name.slice(0, cut).trim() : "";
  if (title === "") return { title: name.trim(), tags: [] };
  const groups = name.slice(cut).matchAll(/\(([^()]*)\)|\[([^[\]]*)\]/g);
  const tags = [...groups].flatMap((group) => (group[1] ?? group[2] ?? "").split(","));
  return { title, tags: [...new Set(tags.map((tag) => tag.trim()))].filter((tag) => tag !== "") };
}
