/**
 * How names are compared in a search: without capitals, accents and width, so that `pokemon` finds `Pokémon`.
 */

/** Letters that carry a stroke or are joined: they have no decomposition (UnicodeData, field 5), yet people type these. */
const plain: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
  ς: "σ",
};

const asciiOnly = /^[\x20-\x7e]*$/;

/**
 * Compatibility decomposition, full case folding by way of upper case (`ß` and `ẞ` are `ss`), marks stripped, white space
 * narrowed to single spaces with none at the ends. Folding what is folded changes nothing.
 */
export function fold(text: string): string {
  if (asciiOnly.test(text)) return narrow(text.toLowerCase());
  const bare = text
    .normalize("NFKD")
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[æœøłđðþıς]/g, (letter) => plain[letter] ?? letter);
  return narrow(bare);
}

/** The folded words of a query, each once, in the order in which they were typed. */
export function foldedWords(query: string): readonly string[] {
  return [...new Set(fold(query).split(" "))].filter((word) => word !== "");
}

/**
 * True where a word may begin behind this byte of a folded UTF-8 text: behind a space or ASCII punctuation. Everything
 * beyond ASCII counts as a letter.
 */
export function endsWord(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = byte >= 0x61 && byte <= 0x7a;
  return !(isDigit || isLetter || byte >= 0x80);
}

function narrow(text: string): string {
  return /^ | $|[^\S ]| {2}/.test(text) ? text.replace(/\s+/g, " ").trim() : text;
}
