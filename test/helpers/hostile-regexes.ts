/**
 * Regular expressions and texts that cost an engine much: endless families of patterns, which fill a set of mappings
 * until one is refused.
 */

const letters = "abcdefghijklmnopqrstuvwxyz";

export const hostileFamilies: Readonly<Record<string, (nth: number) => string>> = {
  "2^13 states": (nth) => `(a|b)*a(a|b){12}${nth}`,
  "2^7 states": (nth) => `(a|b)*a(a|b){6}${nth}$`,
  "a long wait for the end": (nth) => `a.{200}${nth}$`,
  "a short wait for the end": (nth) => `${letters[nth % 26]}.{5}${nth}$`,
  "a common letter": (nth) => `e.*${nth}$`,
  "any character": (nth) => `.${nth}$`,
  "a common letter at the beginning": (nth) => `^a.*${nth}`,
  "both cases": (nth) => `(?i)k${nth}s.*[^a-z]x$`,
  "both cases and a long wait for the end": (nth) => `(?i)[a-m][^k]{200}${nth}$`,
  "both cases and a longer wait for the end": (nth) => `(?i)[a-m][^k]{300}${nth}$`,
  "all letters of Unicode and a wait for the end": (nth) => `(?i)\\pL.{30}${nth}\\p{Greek}$`,
  "all letters of Unicode": (nth) => `(?i)\\pL+${nth}\\p{Greek}\\pN$`,
  "many properties": (nth) => `${"[^\\pL\\PN]?".repeat(16)}${nth}`,
  "large classes": (nth) => `[\u4e00-\u4eff].*${nth}\\pL[\u3040-\u30ff]`,
  "many classes": (nth) => `${Array.from(letters, (letter) => `[^${letter}]`).join("")}${nth}`,
  "whole words": (nth) => `\\b[a-z]+ing\\b.*\\b${nth}\\b`,
  "many words": (nth) => Array.from({ length: 60 }, (_, place) => `w${place * 7 + nth}x`).join("|"),
  "few characters from the beginning": (nth) => `^${nth}[0-9a-f]{20}$`,
  "hundreds of characters from the beginning": (nth) => `^[a-z]{300}${nth}`,
  "many ways from the beginning": (nth) => `^(?:[a-f]x|[b-g]y|[c-h]z|[d-i]w){20}${nth}`,
  "a long plain text": (nth) => `${"plain text ".repeat(360)}${nth}`,
  "repetitions of repetitions": (nth) => `((((((a*)*)*)*)*)*)*((b?){30}){30}${nth}`,
  "repetitions written out": (nth) => `${"((a{10}){10}){10}".repeat(60)}${nth}`,
  "an expensive fault": (nth) => `\\Q${"b-a ".repeat(900)}\\E${nth}[b-a]`,
};

/** Texts of 16 KiB. */
export const hostileTexts: Readonly<Record<string, string>> = {
  "one letter": "a".repeat(16 * 1024),
  "two letters": drawn("ab"),
  "letters and digits": drawn(`${letters}${letters.toUpperCase()}0123456789 \n`),
  "nothing but ASCII that is rare": drawn("{}|~^"),
  kanji: Array.from({ length: 5461 }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7919) % 20_000))).join(
    "",
  ),
  "beyond the basic plane": "\u{1f600}\u{10428}".repeat(2048),
};

/** 16 KiB of these characters, in an order without a period that a pattern could match. */
function drawn(alphabet: string): string {
  let seed = 42;
  return Array.from({ length: 16 * 1024 }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return alphabet[(seed >>> 16) % alphabet.length];
  }).join("");
}
