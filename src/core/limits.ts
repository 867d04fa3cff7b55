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
export const historyRowsMax = 10_000;
export const historyPageMax = 1000;

// Readers.
export const readersMax = 32;
export const tokensPerReaderMax = 8;

// Tags and frames.
export const ndefBytesMax = 8 * 1024;
export const chipFrameBytesMax = 264; // The longest payload of a frame that a reader chip sends (NXP UM0701-02, 6.2.1.2).

// Files and processes.
export const configBytesMax = 1024 * 1024;
export const launchersMax = 256;
export const argvMax = 64;

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
