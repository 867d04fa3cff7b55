/** Names that come from outside, as a terminal may be shown them. */

// Control characters of both sets, and what turns the direction of writing (Unicode, 23.2 and 23.3).
const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** JSON that no terminal takes for orders: the same value, with `\u001b` and the like for what could steer one. */
export function printableJson(json: string): string {
  return json.replace(steering, (character) =>
    character === "\n" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** On one line, with whatever could steer a terminal as `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(steering, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}
