/** Every text of the graphical screen. A translation is another table of the same shape, a file of `languages`. */
import type { BluetoothFault } from "../core/bluetooth-shapes.ts";
import { englishFaults, type FaultTexts, type LaunchReason } from "../core/faults.ts";
import type { WifiFault } from "../core/wifi-shapes.ts";
import type { OwnerAct, Picture } from "./picture.ts";

/** The pictures that have a headline; the menu has titles of its own. */
export type Headlined = Exclude<Picture["kind"], "menu">;

/** The words of the menu. */
export interface MenuTexts {
  readonly title: string;
  readonly continue: string;
  readonly recent: string;
  readonly favourites: string;
  readonly library: string;
  readonly playAll: string;
  readonly volume: string;
  readonly quieter: string;
  readonly louder: string;
  readonly wifi: string;
  /** The entry that opens the access point. */
  readonly wifiByPhone: string;
  /** The title of the keyboard. */
  readonly wifiPassword: string;
  /** The title after a text that is too short or too long. */
  readonly passwordLength: string;
  readonly bluetooth: string;
  /** An entry that pairs a device of a search. */
  readonly pair: string;
  readonly isConnected: string;
  readonly pairing: string;
  /** The text while a code is typed on a keyboard that is being paired. */
  readonly typeCode: string;
  /** The text during a search. */
  readonly pressPairing: string;
  readonly forget: string;
  readonly keep: string;
  readonly bluetoothFaults: Readonly<Record<BluetoothFault, string>>;
  readonly search: string;
  readonly searching: string;
  readonly switchOff: string;
  readonly stayOn: string;
  /** The text of a folder or list without entries. */
  readonly empty: string;
  /** The acts of the buttons. */
  readonly hint: string;
}

export interface ScreenTexts {
  readonly headline: Readonly<Record<Headlined, string>>;
  readonly below: Readonly<Record<Headlined, string>>;
  readonly menu: MenuTexts;
  /** The text above the QR code of the page. */
  readonly openPage: string;
  /** True if the sentences of the service are in this language. These sentences then state why a launch failed. */
  readonly hasReasons?: true;
  /** Texts for failures whose own sentence is for people who know the player, or is in another language. */
  readonly causes: Readonly<Partial<Record<LaunchReason, string>>>;
  /** The faults of the machine, by code. */
  readonly faults: FaultTexts;
  readonly noNetwork: string;
  /** The text above the QR code of the access point, and the words before its password. */
  readonly joinWifi: string;
  readonly wifiPassword: string;
  /** The text while the access point is open. */
  readonly noWifi: string;
  readonly joiningWifi: string;
  /** The text while the device has a radio, and neither a network nor an open access point. */
  readonly wifiLater: string;
  readonly wifiFaults: Readonly<Record<WifiFault, string>>;
  /** The text that names the act of the phone with this name. */
  readonly acts: Readonly<Record<OwnerAct, (name: string) => string>>;
  /** The text about the keys that end a game, if games are played: the hot key of overlay/etc/retroarch.cfg. */
  readonly endGame: string;
  /** The texts above and below the six digits of a pairing. */
  readonly typeDigits: string;
  readonly atAddress: string;
}

export const english: ScreenTexts = {
  headline: {
    ready: "Tap a card",
    "no-reader": "Plug in a reader",
    "reader-broken": "The card reader does not work",
    empty: "This card is empty",
    "not-found": "Not found",
    failed: "That did not start",
    starting: "Starting",
    playlist: "Choose on your phone",
    "stick-away": "Plug in the USB stick",
    "stick-gone": "The USB stick is gone",
    "time-over": "Play time is over",
    "switching-off": "Switching off",
    restarting: "Starting again",
    pairing: "Connect a phone",
  },
  // Texts for states without words of their own, such as a name or a reason.
  below: {
    ready: "and it starts here",
    "no-reader": "Cards need a card reader",
    "reader-broken": "Unplug it, and plug it in again",
    empty: "Choose what it starts on your phone",
    "not-found": "What this card starts is not here",
    failed: "Try another card",
    starting: "",
    playlist: "",
    "stick-away": "What this card starts is on it",
    "stick-gone": "Plug it in and tap the card again",
    "time-over": "See you next time",
    "switching-off": "Pull the plug when the light on the board is off",
    restarting: "This takes a moment",
    pairing: "Point its camera at the code",
  },
  menu: {
    title: "Menu",
    continue: "Play on",
    recent: "Played lately",
    favourites: "Favourites",
    library: "Library",
    playAll: "Play all",
    volume: "Volume",
    quieter: "Quieter",
    louder: "Louder",
    wifi: "Wi-Fi",
    wifiByPhone: "Set up by phone",
    wifiPassword: "Password of “{network}”",
    passwordLength: "A password has 8 to 63 characters",
    bluetooth: "Bluetooth",
    pair: "Pair “{device}”",
    isConnected: "{device} (connected)",
    pairing: "Pairing “{device}”…",
    typeCode: "Type {code} on “{device}”, and then Enter",
    pressPairing: "Now hold the pairing button of the controller or headphones",
    forget: "Forget it",
    keep: "Keep it",
    bluetoothFaults: {
      "no-radio": "The radio does not answer",
      "not-found": "It did not answer: search again",
      refused: "It refused: try it again",
      failed: "That did not work: try it again",
    },
    search: "Search",
    searching: "Searching…",
    switchOff: "Switch off",
    stayOn: "Stay on",
    empty: "Nothing is here yet",
    hint: "A: choose · B: back",
  },
  openPage: "Open on your phone",
  hasReasons: true,
  causes: {
    "player-failed": "This file does not play. It may be damaged or incomplete.",
    "player-not-ready": "This file took too long to start. Try it again.",
  },
  faults: {
    ...englishFaults,
    "disk-full":
      "The memory card is full: what you play is not saved. Open the page on a phone, and delete something.",
    "saves-not-kept": "Saves of games cannot be kept: {why}",
    "saves-memory-full": "The memory for saves is full: end the game, and start it again.",
  },
  noNetwork:
    "No network: plug in a cable, or write the Wi-Fi into tapdeck.conf on the memory card. Cards work without it.",
  joinWifi: "Join this Wi-Fi",
  wifiPassword: "password",
  noWifi:
    "No network: join this Wi-Fi with your phone to set one up, or plug in a cable. Cards work without it.",
  joiningWifi: "Connecting to “{network}”. This takes up to a minute.",
  wifiLater:
    "No network. Soon after a start your phone can set up the Wi-Fi here, or plug in a cable. Cards work without it.",
  wifiFaults: {
    "wrong-password": "The password of the Wi-Fi is wrong.",
    "not-found": "The Wi-Fi is not in reach.",
    refused: "The Wi-Fi does not let this device in, or its signal is too weak.",
    "no-address": "The Wi-Fi gives no address: restart its router.",
  },
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
