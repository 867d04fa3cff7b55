/**
 * The commands of a shell script, as far as this reader finds them without a shell: simple commands with their words,
 * also in substitutions. Here-documents and back quotes are refused, because the scripts of the image have none.
 */

/** The text for a part of a word that is known only when the script runs. */
export const unknown = "\u0000";

export interface Script {
  /** The commands. Each has at least one word, and no keywords, assignments, redirections and quotes. */
  readonly commands: readonly (readonly string[])[];
  /** The names of the functions that the script defines. */
  readonly functions: ReadonlySet<string>;
}

const keywords = new Set(["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"]);

export function readScript(text: string): Script {
  const commands: (readonly string[])[] = [];
  const functions = new Set<string>();
  let at = 0;

  const fail = (why: string): never => {
    throw new Error(`line ${text.slice(0, at).split("\n").length}: ${why}`);
  };

  /** Reads up to `end`, which is a closing parenthesis or nothing, and skips it. */
  const readList = (end: ")" | ""): void => {
    let words: string[] = [];
    const cases: ("word" | "pattern" | "body")[] = [];
    const finish = () => {
      if (words.length > 0 && words[0] !== "for") commands.push(words);
      words = [];
    };
    while (at < text.length) {
      const char = text[at] ?? "";
      if (cases.at(-1) === "pattern") {
        readPattern(cases);
      } else if (char === " " || char === "\t") {
        at++;
      } else if (text.startsWith("\\\n", at)) {
        at += 2;
      } else if (char === "#") {
        at = endOfLine();
      } else if (text.startsWith(";;", at)) {
        finish();
        at += 2;
        if (cases.length === 0) fail(";; outside of a case");
        cases[cases.length - 1] = "pattern";
      } else if (char === ")") {
        finish();
        at++;
        if (end !== ")") fail("a parenthesis closes nothing");
        return;
      } else if (char === "(" && words.length === 1 && text[at + 1] === ")") {
        functions.add(words[0] ?? "");
        words = [];
        at += 2;
      } else if (char === "(") {
        at++;
        readList(")");
      } else if ("\n;&|".includes(char)) {
        finish();
        at++;
      } else if (/^\d*[<>]/.test(text.slice(at, at + 3))) {
        readRedirection();
      } else {
        takeWord(readWord(), words, cases);
      }
    }
    finish();
    if (end !== "") fail("a parenthesis is not closed");
  };

  const takeWord = (word: string, words: string[], cases: ("word" | "pattern" | "body")[]): void => {
    if (cases.at(-1) === "word") {
      if (word === "in") cases[cases.length - 1] = "pattern";
      return;
    }
    if (words.length > 0) {
      words.push(word);
      return;
    }
    if (word === "case") cases.push("word");
    else if (word === "esac") cases.pop();
    else if (!keywords.has(word) && !/^\w+=/.test(word)) words.push(word);
  };

  const readPattern = (cases: ("word" | "pattern" | "body")[]): void => {
    while (/\s/.test(text[at] ?? "")) at++;
    if (text[at] === "#") {
      at = endOfLine();
      return;
    }
    if (/^esac\b/.test(text.slice(at, at + 5))) {
      cases.pop();
      at += 4;
      return;
    }
    while (at < text.length && text[at] !== ")") {
      if (" \t|(".includes(text[at] ?? "")) at++;
      else readWord();
    }
    at++;
    cases[cases.length - 1] = "body";
  };

  const readRedirection = (): void => {
    const [operator = ""] = /^\d*(?:<<|>>|<>|>&|<&|>\||<|>)/.exec(text.slice(at, at + 5)) ?? [];
    if (operator.endsWith("<<")) fail("there is a here-document");
    at += operator.length;
    while (text[at] === " ") at++;
    readWord();
  };

  const readWord = (): string => {
    const from = at;
    let word = "";
    while (at < text.length && !/[\s;&|()<>]/.test(text[at] ?? "")) word += readPart(false);
    if (at === from) fail(`"${text[at]}" is not understood`);
    return word;
  };

  /** Reads one character, quoted text or substitution. */
  const readPart = (isQuoted: boolean): string => {
    const char = text[at] ?? "";
    if (char === "`") return fail("there is a back quote");
    if (char === "\\") {
      at += 2;
      return text[at - 1] === "\n" ? "" : (text[at - 1] ?? "");
    }
    if (char === "$") return readDollar();
    if (char === "'" && !isQuoted) {
      const close = text.indexOf("'", at + 1);
      const inside = text.slice(at + 1, close);
      at = close + 1;
      return inside;
    }
    at++;
    if (char !== '"' || isQuoted) return char;
    let inside = "";
    while (text[at] !== '"') {
      if (at >= text.length) fail("a quote is not closed");
      inside += readPart(true);
    }
    at++;
    return inside;
  };

  const readDollar = (): string => {
    if (text.startsWith("$((", at)) {
      at += 3;
      let depth = 2;
      while (depth > 0) {
        if (at >= text.length) fail("a calculation is not closed");
        if (text[at] === "$") readDollar();
        else {
          if (text[at] === "(") depth++;
          if (text[at] === ")") depth--;
          at++;
        }
      }
    } else if (text.startsWith("$(", at)) {
      at += 2;
      readList(")");
    } else if (text.startsWith("${", at)) {
      at += 2;
      while (text[at] !== "}") {
        if (at >= text.length) fail("a parameter is not closed");
        readPart(false);
      }
      at++;
    } else {
      const [name = ""] = /^\$(?:\w+|[@*#?$!-])?/.exec(text.slice(at, at + 40)) ?? [];
      at += name.length;
      if (name === "$") return "$";
    }
    return unknown;
  };

  const endOfLine = (): number => {
    const end = text.indexOf("\n", at);
    return end < 0 ? text.length : end;
  };

  readList("");
  return { commands, functions };
}
