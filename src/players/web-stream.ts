/**
 * The body of a web radio or podcast, which goes to a player's standard input. The player therefore opens no
 * connection, and the service checks each redirect and address. Stations put titles between the bytes if the request asks
 * for them (SHOUTcast and Icecast, `icy-metaint`):
 *
 *   N bytes of sound, one byte L, 16 L bytes of text with zeros after it, and again. `StreamTitle='Artist - Song';`
 */
import { streamTitleCharsMax } from "../core/limits.ts";
import type { WebBody } from "../system/http-exchange.ts";
import type { Talk } from "../system/process.ts";

/** Feeds the player until the body or the player ends. Calls `onTitle` for each title. */
export async function feedStream(body: WebBody, talk: Talk, onTitle: (title: string) => void): Promise<void> {
  const cut = createTitleCutter(Number(body.fields.get("icy-metaint") ?? 0), onTitle);
  try {
    for await (const chunk of body.chunks)
      for (const piece of cut(chunk)) if (!(await talk.send(piece))) return;
  } catch {
    // The connection was lost. The player ends when it has played these bytes.
  } finally {
    body.close();
    talk.end();
  }
}

/** Returns the pieces of sound of each chunk. An `interval` that is no whole number above 0 means that all is sound. */
export function createTitleCutter(interval: number, onTitle: (title: string) => void) {
  const hasTitles = Number.isSafeInteger(interval) && interval > 0;
  let soundLeft = interval;
  let textLeft = 0;
  let text: Uint8Array[] = [];
  return (chunk: Uint8Array): readonly Uint8Array[] => {
    if (!hasTitles) return [chunk];
    const pieces: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (textLeft > 0) {
        const part = chunk.slice(at, at + textLeft);
        text.push(part);
        textLeft -= part.length;
        at += part.length;
        if (textLeft > 0) break;
        const title = titleIn(Buffer.concat(text));
        text = [];
        soundLeft = interval;
        if (title !== undefined) onTitle(title);
      } else if (soundLeft > 0) {
        const piece = chunk.subarray(at, at + soundLeft);
        pieces.push(piece);
        soundLeft -= piece.length;
        at += piece.length;
      } else {
        textLeft = (chunk[at] ?? 0) * 16;
        at += 1;
        if (textLeft === 0) soundLeft = interval;
      }
    }
    return pieces;
  };
}

function titleIn(bytes: Uint8Array): string | undefined {
  const said = new TextDecoder().decode(bytes);
  const title = /StreamTitle='(.*?)';/s.exec(said)?.[1];
  return title === undefined ? undefined : shownTitle(title);
}

/** A name from outside as one line, with a limited length, and without characters that control a screen. */
export function shownTitle(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .trim()
    .slice(0, streamTitleCharsMax);
}
