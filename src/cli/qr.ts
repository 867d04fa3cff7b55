/** QR codes at a terminal: two modules in a character, dark on light whatever the terminal's colours are. */
import { encode } from "uqr";

const quietModules = 4; // ISO/IEC 18004: the border that a reader needs.
const [upper, lower, both] = ["▀", "▄", "█"];
// The 256-colour black and white, which no colour scheme changes.
const darkOnLight = "\x1b[38;5;16;48;5;231m";
const asBefore = "\x1b[0m";

/** Lines of text, each ended by a line feed. */
export function qrText(text: string): string {
  const { data, size } = encode(text, { ecc: "L", border: quietModules });
  let lines = "";
  for (let y = 0; y < size; y += 2) {
    let line = "";
    for (let x = 0; x < size; x++) line += character(data[y]?.[x] === true, data[y + 1]?.[x] === true);
    lines += `${darkOnLight}${line}${asBefore}\n`;
  }
  return lines;
}

function character(top: boolean, bottom: boolean): string {
  if (top) return bottom ? both : upper;
  return bottom ? lower : " ";
}
