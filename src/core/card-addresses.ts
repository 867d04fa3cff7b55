/**
 * Cards with addresses. A link that launches, `http://<deck>:7497/l/<text>`, stands for its text; nothing is fetched, so the host does
 * not matter. All other addresses start nothing: those of streaming services, and those that phones open.
 */

const byScheme: Readonly<Record<string, string>> = {
  spotify:
    "is a link for the app of Spotify: Tapdeck plays files, and web radio and podcasts of script.allow_stream",
  tel: "is a telephone number, for a phone: put the name of a file on the card",
  sms: "is a text message, for a phone: put the name of a file on the card",
  mailto: "is a mail address, for a phone: put the name of a file on the card",
  geo: "is a place on a map, for a phone: put the name of a file on the card",
  file: "names a file as an address: put its path on the card, such as SNES/Game.sfc",
};

const anyScheme = /^([a-z][\w+.-]*):\/\//i;
const shortScheme = /^(spotify|tel|sms|mailto|geo|file):/i;
// A host name with a path, as phones write addresses without their scheme. Folders rarely have such names.
const bareHost = /^(?:[a-z0-9-]+\.)+(?:com|org|net|tv|fm|be|de|io|co|me|app|[a-z]{2}\.[a-z]{2})\//i;

/**
 * A sentence on this text, or undefined if it is no address. `isCut` is true if the text ended before a `?` that began
 * options.
 */
export function addressFault(text: string, isCut = false): string | undefined {
  const scheme = shortScheme.exec(text)?.[1]?.toLowerCase();
  const why = scheme === undefined ? undefined : byScheme[scheme];
  if (why !== undefined) return `${text} ${why}`;
  if (!anyScheme.test(text) && !bareHost.test(text)) return undefined;
  const how = isCut ? ". In the address of one of these, ? is written ^?" : "";
  return `${text} is an address and no file: Tapdeck opens only web radio and podcasts of script.allow_stream${how}`;
}

/** The id of a tag that Home Assistant wrote: it writes `https://www.home-assistant.io/tag/<id>`. */
export function homeAssistantTag(text: string): string | undefined {
  return /^\s*https?:\/\/(?:www\.)?home-assistant\.io\/tag\/([^\s/?#]{1,128})\/?\s*$/i.exec(text)?.[1];
}

// The usual port of decks.
const usualPort = 7497;
const form = /^https?:\/\/[^\s/?#]+:(\d{1,5})\/l\/(.+)$/is;

/** The text of the link if it leads to a deck: to the usual port, or to one of `ports`; otherwise `text` itself. */
export function textOfLaunchLink(text: string, ports: readonly number[]): string {
  // A fast check, because every tap passes here and few texts are links.
  if (!/^\s*http/i.test(text)) return text;
  const [, port, encoded = ""] = form.exec(text.trim()) ?? [];
  if (port === undefined || ![usualPort, ...ports].includes(Number(port))) return text;
  try {
    return decodeURIComponent(encoded);
  } catch {
    // The text is badly encoded, so it stays an address, which the launch refuses by name.
    return text;
  }
}
