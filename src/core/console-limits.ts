/** The limits of outside input that belong to backups, updates, saves, screens and radios, as in `limits.ts`. */

// Backups.
export const backupFileBytesMax = 16 * 1024 * 1024; // A packed backup has at most ten times the size of 10,000 taps and mappings.
// A part of a backup in one answer or request of the API. In base64 it is a third of the longest message.
export const backupPartBytesMax = 256 * 1024;
export const backupTextBytesMax = 64 * 1024 * 1024; // An unpacked backup. It is read a line at a time.
// A line that holds the settings, or a mapping file, of 1 MiB with each byte as an escape.
export const backupLineBytesMax = 8 * 1024 * 1024;
export const backupLineValuesMax = 256; // A row has about twenty values. 8 MiB of small values would take 500 MB to parse.
// The newest lines of the history. 10,000 of the longest taps are 2 GB, and random texts hardly get smaller by packing.
export const backupHistoryBytesMax = 8 * 1024 * 1024;
export const backupsKeptMax = 3; // Backups before updates that are kept, and the same number before restores.
export const backupPassphraseCharsMin = 8;
export const backupPassphraseCharsMax = 1024;
export const backupKeyMemoryKibMax = 64 * 1024; // The memory of Argon2id, as written and as accepted: an eighth of the smallest board's.
export const backupKeyPassesMax = 3; // The derivation takes 0.4 s on a PC.

// Updates of the image.
export const updatePartsMax = 512; // A kernel, a few device trees and the firmware's overlays.
export const updatePartNameCharsMax = 128;
export const updateBootBytesMax = 64 * 1024 * 1024; // Half of the boot partition; the other half is for the other slot.
export const updateRootBytesMax = 1024 * 1024 * 1024; // The partition's own size is the nearer limit.
export const updateVersionCharsMax = 32;
export const updateFetchMsMax = 60 * 60 * 1000; // The time to fetch an update by its address: 1 GiB at 300 KB/s.
export const updateFreeBytesMin = 32 * 1024 * 1024; // The space that an update leaves free, because the database and saves need some.
export const updateStallMsMax = 60_000; // The time without a byte of the update, after which the server counts as gone.
// The number of tries of an update that is interrupted before its trial, for example by a power cut.
export const updateTriesMax = 3;
export const updateQuietMs = 10 * 60_000; // The time without a tap or media before an update that nobody asked for.

// Servers of updates.
export const updateAnswerBytesMax = 64 * 1024; // An answer of hawkBit, or an index of versions. Both have some KB.
export const updateAnswerMsMax = 60_000;
export const updateFileBytesMax = 64 * 1024; // A token, a key, a chain of certificates.
export const updateSummaryCharsMax = 255; // The update entity of Home Assistant accepts at most this many.
export const hawkbitSleepMsMin = 1000; // The time between two polls, as the server asks. hawkBit itself allows no less than 30 s.
export const hawkbitSleepMsMax = 24 * 60 * 60_000;
export const hawkbitPausesMs = { first: 10_000, longest: 60 * 60_000 } as const; // The pause doubles after each failed poll.
// The pause after a failed read of an index, which also doubles.
export const indexPausesMs = { first: 60 * 60_000, longest: 24 * 60 * 60_000 } as const;

export const updateNoteBytesMax = 4096; // The note of an update for the next start, and small files of the boot partition.

// Saves of games, which RetroArch writes into memory.
// The saves of one game that are copied before it starts. A board has 512 MB, and a state of a PlayStation has 1 to 4
// MB.
export const savesBytesMax = 24 * 1024 * 1024;
export const savesFilesMax = 500; // The number of these files, each of which is copied before the game starts.
export const savesListedMax = 20_000; // Files and folders of one system's saves. They are listed before a game starts.
export const savesDepthMax = 4; // Nested folders: the system's, the core's, and those that a core makes below.
export const holedSaveBytesMax = 1024 * 1024; // A file with parts that were never written. RetroArch makes none.
export const savesMemoryFreeMin = 256 * 1024; // With less free memory it counts as full, because the last write may be truncated.
export const orphanSaveMsMax = 5000; // The time for a RetroArch that outlived the service to save and end.

// The device's own screen.
export const screenNameCharsMax = 80; // A name on the screen: two lines, which can be read from a distance.
export const screenReasonCharsMax = 120; // The reason of a failed start. The log has the rest.
export const screenFaultsCharsMax = 240; // The faults of the machine together: four lines of its smallest screen.
export const screenPixelsMax = 4096 * 2304; // The pixels of a frame buffer. Drawing takes 12 bytes for each.
export const screenDrawMsMax = 120_000; // One drawing with the pictures packed after it, at the lowest priority. It takes 0.2 s on a PC.
export const screenWriteMsMax = 3000; // The time that a screenshot waits while a drawing is written to the screen.
export const screenRestoreMsMax = 1000; // The return to the console's text mode at the end of the service.
export const screenshotsMax = 500; // Files in the folder of screenshots. A full card would lose saves.

// Wi-Fi.
export const wifiNameBytesMax = 32; // The longest name of a network (IEEE 802.11, 9.4.2.2).
export const wifiPasswordBytesMin = 8; // The bounds of a password (IEEE 802.11, J.4.1).
export const wifiPasswordBytesMax = 63;
export const wifiKeyDigits = 64; // The number of digits of a key that is given instead of a password.
export const wifiNetworksMax = 50; // The strongest networks in reach. A block of flats has 40.
export const wifiReportBytesMax = 256 * 1024; // A report of root's scripts. A scan has 100 bytes for each radio in reach.
export const wifiFormBytesMax = 4096; // The form of the page by which a phone sets up the Wi-Fi has two fields.

// Bluetooth.
export const bluetoothNameCharsMax = 80; // A name has up to 248 bytes (Core Specification, Vol 3 Part C, 3.2.2); a row has less room.
export const bluetoothReportBytesMax = 64 * 1024; // A report of root's scripts. 30 devices with such names have 17 KiB.

// The share of the media folder for PCs.
export const sharePasswordCharsMin = 8; // A PC on the network may try some hundred passwords per second.
export const sharePasswordCharsMax = 63;
export const shareReportBytesMax = 1024; // A report of root's scripts has two short lines.

// WS-Discovery: Windows uses it to list this device while the share is on.
export const wsdMessageBytesMax = 4096; // Windows sends less than 1 KiB. SOAP over UDP 1.1 allows 32 KiB.
export const wsdHeadBytesMax = 2048; // The head of a request over HTTP. That of Windows has 300 bytes.
export const wsdConnectionsMax = 16; // A home has few PCs, and each PC asks once for the name.
export const wsdConnectionsPerAddressMax = 4;
export const wsdConnectionMsMax = 5000; // A question and its answer take milliseconds.
// The answers in a burst, and again within the next ten seconds. A home has few PCs, and each PC sends few requests.
export const wsdAnswersMax = 20;
