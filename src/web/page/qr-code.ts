/**
 * Draws a QR code. It is a part of the script that only the device's own browser loads, so it imports nothing of the
 * page.
 */
import { encode } from "uqr";

const quietModules = 4; // ISO/IEC 18004: the border that a reader needs.

export function qrCode(text: string, label: string): SVGSVGElement {
  const { data, size } = encode(text, { ecc: "L", border: quietModules });
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  const facts = { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img", "aria-label": label };
  for (const [name, value] of Object.entries(facts)) svg.setAttribute(name, value);
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
  path.setAttribute("d", squares.join(""));
  svg.append(path);
  return svg;
}
