/** What `launch.finished` says of a token that has no text, and that no mapping knows. */
import type { TagProblem } from "../core/token.ts";

const andNoMapping = "and no mapping for it";

const sentences: Readonly<Record<TagProblem, string>> = {
  blank: `the tag is blank: there is no text on it yet, ${andNoMapping}`,
  unformatted: `the tag is not formatted for NFC messages: there is no text on it, ${andNoMapping}. Writing a text to it formats it`,
  "half-written": `the message on the tag is cut short, as by a write that was interrupted: write it again. There is no text on it, ${andNoMapping}`,
  "other-message": `the message on the tag is neither a text nor a link, ${andNoMapping}`,
  locked: `the tag keeps its memory locked, by a password or a key that is not known here, ${andNoMapping}`,
  unreadable: `the tag's memory could not be read, ${andNoMapping}`,
};

export function noTextSentence(problem: TagProblem | undefined): string {
  return problem === undefined ? `there is no text on this token, ${andNoMapping}` : sentences[problem];
}
