/** The Wi-Fi in the menu of the television: networks in reach, and a keyboard for the password. */
import { type Clock, sleep } from "../core/clock.ts";
import { filled } from "../core/text.ts";
import { isWifiPassword, type WifiNetwork } from "../core/wifi-shapes.ts";
import { letterKeys, typedMax } from "../screen/keyboard-template.ts";
import type { MenuTexts } from "../screen/texts.ts";
import { type MenuItem, type MenuList, menuSymbols } from "./menu-items.ts";
import type { Wifi } from "./wifi.ts";

export type MenuWifi = Pick<Wifi, "join" | "open" | "report" | "scan">;

interface WifiParts {
  readonly wifi: MenuWifi;
  readonly clock: Pick<Clock, "after" | "now">;
  readonly texts: () => MenuTexts;
}

const searchMsMax = 16_000;
const pollMs = 500;

export function wifiList({ wifi, clock, texts }: WifiParts): MenuList {
  const join = (id: string, password: string) => async () => {
    await wifi.join({ id, password });
    // The status screen shows whether the device joins the network.
    return "close" as const;
  };
  const item = ({ id, name, security }: WifiNetwork): MenuItem =>
    security === "open"
      ? { name, symbol: menuSymbols.wifi, choose: join(id, "") }
      : {
          name,
          symbol: menuSymbols.locked,
          choose: () =>
            passwordKeys({
              title: filled(texts().wifiPassword, { network: name }),
              advice: texts().passwordLength,
              done: (password) => (isWifiPassword(password) ? join(id, password) : undefined),
            }),
        };
  const search = async (): Promise<MenuList> => {
    const before = wifi.report().networks;
    await wifi.scan();
    // The clock of a board may be set meanwhile, so the pauses count the time.
    for (let ms = 0; wifi.report().networks === before && ms < searchMsMax; ms += pollMs)
      await sleep(clock, pollMs, new AbortController().signal);
    return { ...list(), replaces: true };
  };
  const searching = (): MenuList => ({
    title: texts().wifi,
    note: texts().searching,
    items: [],
    replaces: true,
    follow: search,
  });
  const list = (): MenuList => {
    const words = texts();
    const byPhone = async () => {
      await wifi.open();
      return "close" as const;
    };
    const { networks } = wifi.report();
    return {
      title: words.wifi,
      items: [
        // Networks that need a user name cannot be joined.
        ...networks.filter(({ security }) => security !== "other").map(item),
        { name: words.search, symbol: menuSymbols.search, choose: searching },
        { name: words.wifiByPhone, symbol: menuSymbols.phone, choose: byPhone },
      ],
    };
  };
  return list();
}

/** The printable characters of ASCII, as a password has them (IEEE 802.11, J.4.1). */
const layouts = {
  small: "1234567890qwertyuiopasdfghjkl-zxcvbnm._@",
  large: "1234567890QWERTYUIOPASDFGHJKL-ZXCVBNM._@",
  signs: "1234567890!\"#$%&'()*+,/:;<=>?[\\]^`{|}~-_",
} as const;

interface Typing {
  readonly title: string;
  /** The title after a text that is not complete. */
  readonly advice: string;
  /** The step that follows this text; undefined if the text is not complete. */
  readonly done: (text: string) => MenuItem["choose"] | undefined;
}

/** The keys of a keyboard. They end when the text is complete, or when the person goes back. */
export function passwordKeys({ title: first, advice, done }: Typing): MenuList {
  let title = first;
  let text = "";
  const type = (letter: string) => () => {
    if (text.length < typedMax) text += letter;
    return undefined;
  };
  const layout = (name: keyof typeof layouts): MenuList => {
    const other = name === "large" ? "small" : "large";
    const further = name === "signs" ? "small" : "signs";
    const label = { small: "abc", large: "ABC", signs: "#+=" } as const;
    const letters = [...layouts[name]].slice(0, letterKeys);
    return {
      title,
      replaces: true,
      typed: () => text,
      items: [
        ...letters.map((letter) => ({ name: letter, choose: type(letter) })),
        { name: label[other], choose: () => layout(other) },
        { name: label[further], choose: () => layout(further) },
        { name: "space", symbol: menuSymbols.space, choose: type(" ") },
        {
          name: "erase",
          symbol: menuSymbols.erase,
          choose() {
            text = text.slice(0, -1);
            return undefined;
          },
        },
        {
          name: "done",
          symbol: menuSymbols.done,
          choose() {
            const step = done(text);
            if (step !== undefined) return step();
            title = advice;
            return layout(name);
          },
        },
      ],
    };
  };
  const { replaces: _, ...keys } = layout("small");
  return keys;
}
