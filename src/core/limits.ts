/**
 * Every limit on what comes from outside, with its unit and reason. Reaching one is an ordinary refusal with its own
 * code, and `data.limit` names it by the name it has here.
 */

// The API (decisions, "Limits").
export const messageBytesMax = 1024 * 1024;
export const jsonDepthMax = 64;
export const batchRequestsMax = 100;
export const inFlightPerConnectionMax = 64;
export const connectionsMax = 256;
export const connectionsPerAddressMax = 16;
export const requestsWaitingMax = 8192; // Of all connections: what a fast machine serves in a few hundredths of a second.
export const requestsWaitingBytesMax = 8 * 1024 * 1024;
export const unsentBytesMax = 4 * 1024 * 1024;
export const requestIdCharsMax = 1024; // An id is echoed back; a UUID has 36.

// Scripts and tokens.
export const scriptBytesMax = 16 * 1024;
export const scriptCommandsMax = 64;
export const uidCharsMax = 64; // ISO/IEC 14443-3 allows 10 bytes; others write colons or their own ids.
export const tokenTypeCharsMax = 64;
export const tokenDataCharsMax = 16 * 1024; // Hex: twice the largest tag memory that we read, with room.
export const delayMsMax = 10 * 60 * 1000; // A card may wait, but not hold the queue for ever.

// Launching.
export const launchQueueMax = 64; // A person cannot tap faster; a program that does gets `busy`.
export const cardsGoneMax = 128; // Cards that went while their launch waited: twice the queue.
export const hooksRunningMax = 16; // Scripts of hooks at one time; a card at the edge of the field must not pile them up.
export const playlistItemsMax = 10_000; // What a shuffled list costs in memory; nobody hears more.
export const playlistFailuresMax = 100; // Items in a row that cannot be played, before a playlist ends.
export const playTimeMinutesMax = 7 * 24 * 60;
export const playTimeWarningsMax = 16;
export const playDaysKeptMax = 31;
export const historyRowsMax = 10_000;
export const historyPageMax = 1000;
export const damagedFilesMax = 3; // Databases that were set aside: enough to look into, too few to fill an SD card.

// Readers.
export const readersMax = 32;
export const tokensPerReaderMax = 8;

export const readerLineBytesMax = 20 * 1024; // A text of 16 KiB, a UID, and the words around them.
export const readerFileBytesMax = 20 * 1024; // The same, of a file that stands for a card.
export const readerTapsPerSecondMax = 10; // Of a reader that speaks in lines or types; a hand is slower.
export const typedCharsMax = 4296; // The longest text of a QR code (ISO/IEC 18004, version 40-L).

// Tags and frames.
export const ndefBytesMax = 8 * 1024;
export const chipFrameBytesMax = 264; // The longest payload of a frame that a reader chip sends (NXP UM0701-02, 6.2.1.2).
export const apduBytesMax = 4096; // An answer of a card to one command; we ask for no more than 255 bytes at a time.

// USB.
export const usbDevicesMax = 127; // What one bus addresses (USB 2.0, 4.1).
export const ccidMessageBytesMax = 65_544 + 10; // The longest that a CCID reader may announce (CCID 1.1, 5.1).
export const ccidExtensionsMax = 20; // Times that a reader may ask for more time for one command.

// Files and processes.
export const configBytesMax = 1024 * 1024;
export const launchersMax = 256;
export const argvMax = 64;
export const configListMax = 1000; // Systems or endings of one launcher: more than there are.

// What the machine's own start found wrong.
export const machineFaultsMax = 16;
export const machineFaultBytesMax = 1024; // A sentence, or the line of the watchdog's state file.

// Over the API.
export const scanMsMax = 60 * 60 * 1000; // A virtual card that is never taken off would hide every later one.
export const mappingPatternBytesMax = 4096;
export const mappingOverrideBytesMax = 4096;
export const mappingLabelCharsMax = 255;
export const mappingsMax = 10_000; // Nobody owns more cards, and the matcher is built for as many.
export const clientsMax = 256;
export const clientNameCharsMax = 255;
export const searchQueryCharsMax = 1024;
export const searchResultsMax = 1000;
export const searchSystemsMax = 512;
export const settingsListMax = 256;
export const settingsTextCharsMax = 4096; // A path: PATH_MAX of Linux.
export const exitDelaySecondsMax = 24 * 60 * 60;

// HTTP (decisions, "Limits").
export const requestsPerMinuteMax = 100;
export const requestBurstMax = 20;
export const ratedAddressesMax = 4096; // Of each, a few bytes are kept until its allowance is full again.
export const eventsKeptMax = 256; // What a listener that comes back may have missed.

// Serial lines.
export const serialBaudRateMax = 12_000_000; // Baud; the fastest USB converter (12 Mbaud, FTDI FT232H data sheet).

// Mappings, beyond what the API takes.
export const mappingFilesMax = 256;
export const mappingFileBytesMax = 1024 * 1024;
export const looseRegexesMax = 64; // Regular expressions without a plain word in them are tried one by one on each tap.
export const regexRepeatsMax = 2000; // The counts of `{n,m}` in one pattern: the engine writes each of them out.
export const regexStepsMax = 5000; // Of a compiled pattern; 4 KiB of plain text has as many.
export const regexMemoryBytesMax = 64 * 1024; // Of what a compiled pattern remembers: 32 MiB for all that are ready.
export const regexesReadyMax = 512;

// The secure layer.
export const sealedMessageBytesMax = 65_535; // Of one transport message (Noise revision 34, 3).
export const sealedFrameCharsMax = 1536 * 1024; // A payload of 1 MiB takes 1,398,496; the rest is for other ways to write JSON.
export const handshakeCharsMax = 1024; // It takes some 150.
export const sealedClientIdCharsMax = 64; // A UUID has 36.

// The media index.
export const folderDepthMax = 64; // Folders in folders below a system's; deeper is a loop that no link explains.
export const playlistBytesMax = 256 * 1024; // A playlist of discs has a few lines; a longer file is something else.
export const indexedFilesMax = 8_000_000; // What fits into the memory of a PC while it is sorted.
export const scanComplaintsMax = 100; // Lines of the log for one run of the index; the rest is counted.

// Expressions in scripts.
export const expressionPartsMax = 1024; // Operands and operators in one script; each is looked at once when it is worked out.
export const expressionDepthMax = 64; // Brackets and operators that wait for what stands behind them; nobody reads more.
export const numberDigitsMax = 15; // What a double holds exactly.
export const numberDecimalsMax = 6; // With more, small ones would be written with an exponent.

// What scripts do outside the device.
export const webRequestMsMax = 10_000; // With all its redirects: the cards behind it wait.
export const webHeadBytesMax = 16 * 1024; // Of an answer; common servers send no more themselves.
export const webBodyBytesMax = 1024 * 1024; // It is read and dropped.
export const webRedirectsMax = 5;
export const webAddressesMax = 4; // Of one name, tried one after another.
export const executeMsMax = 60_000; // A program of a card; what shall stay is a player, or a service of the owner's.
export const executeOutputBytesMax = 64 * 1024; // Kept of what it writes, for the log; the rest is read and dropped.

// The command line.
export const writeListBytesMax = 1024 * 1024; // Ten thousand cards, as many as anybody owns.
