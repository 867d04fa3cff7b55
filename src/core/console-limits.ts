/** The limits of outside input of backups, updates, saves and screens, as in `limits.ts`. */

// Backups.
export const backupFileBytesMax = 16 * 1024 * 1024; // Of a packed one: ten times that of 10,000 taps and mappings.
export const backupPartBytesMax = 256 * 1024; // Of one answer or request of the API: in base64 it is a third of the longest message.
export const backupTextBytesMax = 64 * 1024 * 1024; // Unpacked; it is read a line at a time.
export const backupLineBytesMax = 8 * 1024 * 1024; // The settings, or a mapping file, of 1 MiB with each byte as an escape.
export const backupLineValuesMax = 256; // A row has some twenty; 8 MiB of small values would take 500 MB to parse.
export const backupHistoryBytesMax = 8 * 1024 * 1024; // Of the lines of the history, the newest: 10,000 of the longest taps are 2 GB. Random ones hardly get smaller by packing.
export const backupsKeptMax = 3; // Of those before updates, and as many of those before restores.
export const backupPassphraseCharsMin = 8;
export const backupPassphraseCharsMax = 1024;
export const backupKeyMemoryKibMax = 64 * 1024; // Of Argon2id, as written and as accepted: an eighth of the smallest board.
export const backupKeyPassesMax = 3; // 0.4 s on a PC.

// Updates of the image.
export const updatePartsMax = 512; // A kernel, a few device trees and the firmware's overlays.
export const updatePartNameCharsMax = 128;
export const updateBootBytesMax = 64 * 1024 * 1024; // Half of the boot partition; the other half is for the other slot.
export const updateRootBytesMax = 1024 * 1024 * 1024; // The partition's own size is the nearer limit.
export const updateVersionCharsMax = 32;
export const updateFetchMsMax = 60 * 60 * 1000; // To fetch one by its address: 1 GiB at 300 KB/s.
export const updateFreeBytesMin = 32 * 1024 * 1024; // These stay free, because the database and saves need some.
export const updateStallMsMax = 60_000; // Without a byte of it: the server is gone, or hangs.
export const updateTriesMax = 3; // Of one update that was interrupted before its trial, as by a power cut.
export const updateQuietMs = 10 * 60_000; // Without a tap or media, before an update that nobody asked for.

// Servers of updates.
export const updateAnswerBytesMax = 64 * 1024; // Of hawkBit, or an index of versions: some KB.
export const updateAnswerMsMax = 60_000;
export const updateFileBytesMax = 64 * 1024; // A token, a key, a chain of certificates.
export const updateSummaryCharsMax = 255; // As the update entity of Home Assistant takes.
export const hawkbitSleepMsMin = 1000; // Between two polls, as the server asks; hawkBit itself allows 30 s at least.
export const hawkbitSleepMsMax = 24 * 60 * 60_000;
export const hawkbitPausesMs = { first: 10_000, longest: 60 * 60_000 } as const; // The pause after a failed poll is twice the one before.
export const indexPausesMs = { first: 60 * 60_000, longest: 24 * 60 * 60_000 } as const; // The same for reads of an index.

export const updateNoteBytesMax = 4096; // The note of an update for the next start, and small files of the boot partition.

// Saves of games, which RetroArch writes in memory.
export const savesBytesMax = 24 * 1024 * 1024; // Of one game, before it starts: a board has 512 MB, and a PlayStation's state 1 to 4.
export const savesFilesMax = 500; // The same: each is copied before the game starts.
export const savesListedMax = 20_000; // Files and folders of one system's saves; they are looked through before a game starts.
export const savesDepthMax = 4; // Folders in folders: the system's, the core's, and what a core makes below.
export const holedSaveBytesMax = 1024 * 1024; // Of a file with parts that were never written, which RetroArch does not make.
export const savesMemoryFreeMin = 256 * 1024; // With less the memory counts as full, and the last write may be truncated.
export const orphanSaveMsMax = 5000; // The time for a RetroArch that outlived the service to save and end.

// The device's own screen.
export const screenNameCharsMax = 80; // Of a name: two lines, which can be read from a distance.
export const screenReasonCharsMax = 120; // Of the reason of a failed start; the log has the rest.
export const screenFaultsCharsMax = 240; // Of the faults of the machine together: four lines of its smallest screen.
export const screenPixelsMax = 4096 * 2304; // Of a frame buffer: drawing takes 12 bytes for each.
export const screenDrawMsMax = 120_000; // Of one drawing with the pictures packed after it, at the lowest priority; 0.2 s on a PC.
export const screenRestoreMsMax = 1000; // For the return to the console's text mode, at the end of the service.
export const screenshotsMax = 500; // Files in the folder of screenshots: a full card would lose saves.

// Wi-Fi.
export const wifiNameBytesMax = 32; // IEEE 802.11, 9.4.2.2.
export const wifiPasswordBytesMin = 8; // IEEE 802.11, J.4.1, as the next one.
export const wifiPasswordBytesMax = 63;
export const wifiKeyDigits = 64; // Of the key in the place of a password.
export const wifiNetworksMax = 50; // In reach, the strongest; a block of flats has 40.
export const wifiReportBytesMax = 256 * 1024; // Of root's scripts: a scan has 100 bytes for each radio in reach.
export const wifiFormBytesMax = 4096; // The form of the page by which a phone sets up the Wi-Fi has two fields.

// Bluetooth.
export const bluetoothNameCharsMax = 80; // A name has up to 248 bytes (Core Specification, Vol 3 Part C, 3.2.2); a row has less room.
export const bluetoothReportBytesMax = 64 * 1024; // Of root's scripts: 30 devices with such names have 17 KiB.
