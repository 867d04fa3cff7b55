/** Buttons, the picture of the screen, the broker and backups in English. */
import type { Numbers } from "./forms.ts";

export const englishParts = ({ counted, number, moment }: Numbers) => ({
  buttons: {
    how: "Buttons of the case, rotary knobs and keypads start something, as a card does.",
    none: "No button is taught yet.",
    add: "Add a button",
    pressNow: "Press the button or turn the knob now.",
    pressHow:
      "For half a minute the device listens to everything that is plugged in. Only the first press counts.",
    nonePressed: "No button was pressed.",
    choose: "What does this button do?",
    everyDevice: "every device",
    chooseFor: (name: string) => `Let the button start ${name}`,
    saveText: "Save for the button",
    removed: (key: string) => `${key} does nothing any more.`,
  },
  picture: {
    title: "Picture of the screen",
    what: "What the television shows now. There is none while nothing plays on a device without a screen. Each picture is also kept on the device.",
    take: "Take a picture",
    again: "Take another one",
    alt: "What the device shows",
    takenAt: (time: string) => `Taken at ${time}.`,
  },
  broker: {
    title: "MQTT broker",
    what: "Home Assistant and other programs hear of taps there, and control this device.",
    url: "Address",
    user: "Account",
    password: "Password",
    kept: "kept, empty leaves it",
    ca: "Certificate of its authority (PEM), only for mqtts://",
    role: "What it may do here",
    roleWhat:
      "A player starts and stops media, and is enough for Home Assistant. A member also changes cards and settings. An owner also restarts and updates this device: choose it only if nobody else may write to that broker.",
    save: "Save",
    test: "Test",
    testing: "Connecting …",
    connected: "Connected.",
    trying: "Not connected yet.",
    unconnected: "Saved, but not connected.",
    none: "No broker is set.",
    byImage: "tapdeck.conf on the memory card sets the broker.",
    wrong: "Type the address of the broker, such as 192.168.1.5 or mqtt://homeassistant.local:1883.",
    /** Faults in the words of this card. The other ones have the sentence of `health`. */
    faults: {
      "broker-absent":
        "Nothing answers at {subject}, port {port}. Check the address, and whether the broker runs.",
      "broker-unknown":
        "There is no {subject} in the network. Check the address, or type that of the computer in numbers, such as 192.168.1.5.",
      "broker-silent":
        "The broker ends the connection without an answer. Its port is usually 1883, or 8883 if the address begins with mqtts://.",
      "broker-silent-tls":
        "The broker ends the connection without an answer. If its port has no TLS, let the address begin with mqtt://.",
      "broker-not-mqtt":
        "The answer of {subject}, port {port}, is no MQTT. The port is usually 1883, or 8883 if the address begins with mqtts://.",
      "broker-certificate-host":
        "The certificate of the broker is for another host than {subject}. Check the address.",
      "broker-certificate-untrusted":
        "The certificate of the broker is not trusted. Choose that of its authority under “For experts”.",
      "broker-password": "The broker refuses the account or its password.",
      "broker-refuses":
        "The broker refuses this device. Check the account, its password, and the access list of the broker.",
    },
  },
  backup: {
    title: "Backup",
    what: "One file with settings, rules, history and positions; with a passphrase also phones and keys. Media and saved games are not in it.",
    passphrase: "Passphrase (optional)",
    download: "Download a backup",
    made: "The backup is made, and downloads.",
    choose: "Restore a backup",
    restore: "Restore this backup",
    restoreSure:
      "What plays ends, and the service starts again. The present state is kept as a backup on the device.",
    restored: "The backup is restored. The service starts again.",
    madeAt: (time: Date, version: string) => `Made ${moment(time)} by Tapdeck ${version}.`,
    insteadOf: (count: number, now: number) => `${number(count)}, in place of ${number(now)}`,
    mappings: "Rules",
    mappingFiles: "Files of rules",
    history: "Taps",
    positions: "Positions",
    settings: "Settings that change",
    same: "as they are",
    locked: "only with the passphrase",
    warning: "Note",
    leftOut: (count: number) =>
      `${counted(count, "file", "files")} of rules could not be read, and left out.`,
    /** Things that a restore would not bring back, each with its subject. */
    notes: {
      "mapping-file-invalid": (file: string) => `The rule file ${file} has a fault, and is not used.`,
      "settings-kept": (names: string) => `Only a restore on the device itself changes these: ${names}.`,
      "media-folder-missing": (path: string) => `This device has no media folder ${path}.`,
      "reader-missing": (path: string) => `This device has no reader at ${path}.`,
    },
  },
  /** The share of the media folder. */
  share: {
    title: "Copy media from a PC",
    off: "PCs cannot copy files to this device until you set a password.",
    starting: "The share starts …",
    on: "PCs on this network can open the media folder, with any user name and the password.",
    fault: "The share is off, because its server does not run: set the password again.",
    windows: "Windows: {place}",
    others: "Mac, Linux, phone: {place}",
    password: "Password, 8 to 63 characters",
    switchOn: "Switch on",
    change: "Change the password",
    switchOff: "Switch off",
    offAsk: "Switch the share off?",
    ends: "PCs that copy now are cut off.",
  },
});
