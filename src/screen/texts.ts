/** Every text of the graphical screen. A translation is another table of the same shape. */
import type { FaultTexts } from "../core/faults.ts";
import type { OwnerAct, Picture } from "./picture.ts";

export interface ScreenTexts {
  readonly headline: Readonly<Record<Picture["kind"], string>>;
  readonly below: Readonly<Record<Picture["kind"], string>>;
  /** Above the QR code of the page. */
  readonly openPage: string;
  /** The faults of the machine, by code; absent means those in English. */
  readonly faults?: FaultTexts;
  readonly noNetwork: string;
  /** Names the act of the phone with this name. */
  readonly acts: Readonly<Record<OwnerAct, (name: string) => string>>;
  /** The keys that end a game, if games are played: the hot key of overlay/etc/retroarch.cfg. */
  readonly endGame: string;
  /** Pairing: above and below the six digits. */
  readonly typeDigits: string;
  readonly atAddress: string;
}

export const english: ScreenTexts = {
  headline: {
    ready: "Tap a card",
    "no-reader": "Plug in a reader",
    empty: "This card is empty",
    "not-found": "Not found",
    failed: "That did not start",
    starting: "Starting",
    playlist: "Choose on your phone",
    "stick-away": "Plug in the USB stick",
    "stick-gone": "The USB stick is gone",
    "time-over": "Play time is over",
    pairing: "Connect a phone",
  },
  // For states without words of their own, such as a name or a reason.
  below: {
    ready: "and it starts here",
    "no-reader": "Cards need a card reader",
    empty: "Choose what it starts on your phone",
    "not-found": "What this card starts is not here",
    failed: "Try another card",
    starting: "",
    playlist: "",
    "stick-away": "What this card starts is on it",
    "stick-gone": "Plug it in and tap the card again",
    "time-over": "See you next time",
    pairing: "Point its camera at the code",
  },
  openPage: "Open on your phone",
  noNetwork: "No network yet. Cards work without it.",
  acts: {
    backup: (name) => `${name} has made a backup.`,
    restore: (name) => `${name} restores a backup.`,
    "device.update": (name) => `${name} installs an update.`,
    "device.restart": (name) => `${name} restarts this device.`,
    "device.shutdown": (name) => `${name} switches this device off.`,
  },
  endGame: "Select + Start on the controller ends a game",
  typeDigits: "or type",
  atAddress: "at",
};
