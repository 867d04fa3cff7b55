/**
 * The refusals of requests that a page or an app shows in its own language: `data.refusal` of an error. A word in braces
 * is a fact, which `data` holds under that name. Codes and names of facts are stable. The sentence of the error itself is
 * English, and may have more details.
 */

/** Each code with its meaning. */
export const refusalMeanings = {
  // The kinds of errors (`data.reason`), for every error that has no code of its own.
  busy: "a limit is reached",
  failed: "it failed",
  forbidden: "the caller may not do this",
  "not-found": "the thing that is named is not there",
  conflict: "another action excludes it now",
  "invalid-params": "a value is not valid",
  "no-reader": "no reader can do it",
  "reader-gone": "the reader was unplugged",
  "write-failed": "the tag was not written",
  "internal-error": "a fault of the service, which its log explains",

  "pairing-wrong-code": "the code is not the one that the device shows; {triesLeft} tries are left",
  "pairing-last-code": "the code was wrong for the last time",
  "pairing-delayed": "after wrong codes, the next one counts in {minutes} minutes",
  "pairing-not-open": "no pairing by code is open",
  "pairing-no-network": "the service is not reached from the network",
  "client-name-taken": "a client has the name {name} already",
  "client-by-pin": "an app that was paired by a PIN keeps its name and role",
  "client-last-owner": "it is the last owner",
  "client-gone": "there is no such client, or it can no longer be restored",

  "wifi-password": "a Wi-Fi password has 8 to 63 characters, or 64 hex digits",
  "wifi-elsewhere": "only the image sets up Wi-Fi",
  "bluetooth-elsewhere": "only the image sets up Bluetooth",
  "bluetooth-no-radio": "the device has no Bluetooth radio",
  "bluetooth-unknown": "no such device was found or paired",
  "share-elsewhere": "only the image has a share for PCs",
  "share-password": "the password of the share has 8 to 63 characters",
  "broker-by-image": "tapdeck.conf names the broker",
  "broker-none": "no broker is named",
  "update-running": "an update is being installed",
  "setting-invalid": "the value is not valid for the setting {field}",
  "setting-not-saved": "the config file cannot be changed",
  "system-unknown": "there is no system {name}",

  "backup-passphrase-wrong": "the passphrase is wrong",
  "backup-passphrase-length": "a passphrase has {min} to {max} characters",
  "backup-passphrase-needless": "the backup has no encrypted part",
  "backup-foreign": "the file is no backup",
  "backup-newer": "the backup is of a newer version",
  "backup-damaged": "the backup is damaged",
  "backup-settings": "the settings have a fault, so no backup is made",

  "upload-there": "a file of this name is there already",
  "upload-no-room": "the disk has no room",
  "upload-fat": "a file on a FAT drive has at most 4 GB",
  "upload-only-here": "only a caller on the device itself may send such a file",
  "upload-no-folder": "there is no media folder to write to",
  "upload-of-other": "another client sends this file",
  "upload-not-of-system": "the system has no such files",
  "upload-name": "the name or path cannot be used",
  "upload-unfinished": "too many uploads are unfinished",
  "upload-damaged": "the file arrived damaged",
  "upload-not-written": "the drive does not take the file: {errno}",

  "mapping-empty": "the field {field} is empty",
  "mapping-too-long": "the field {field} has more than {max} characters",
  "mapping-not-hex": "the pattern can never equal a UID or data",
  "mapping-regex": "the expression is not valid",
  "mapping-regex-at": "the expression is not valid at offset {offset}",
  "mapping-uid-taken": "another mapping is for this UID",
  "mapping-compared": "{max} mappings with partial patterns or expressions are there",
  "mapping-in-file": "the mapping is in the file {file}",
  "mapping-none": "there is no mapping in the text",
  "mapping-line": "the line is no valid mapping",
  "mapping-line-twice": "a mapping does the same, so the line is left out",
  "mapping-room": "there are too many mappings",

  "write-timeout": "no card was laid on the reader in time",
  "button-taught-already": "another button is being taught",
  "button-while-playing": "media play, and their player may use the button",
  "button-taught-often": "too many buttons were taught within an hour",
  "launches-waiting": "too many launches wait",
  "picture-none": "nothing plays, and there is no screen",
  "picture-of-owner": "nothing plays, and the device's own screen is for owners",
  "picture-not-made": "the player or the screen saved no picture",
} as const;
export type RefusalCode = keyof typeof refusalMeanings;

/** A sentence for each code, in one language. */
export type RefusalTexts = Readonly<Record<RefusalCode, string>>;
