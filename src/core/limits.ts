/**
 * The limits of outside input, each with unit and reason. Reaching a limit of load is an ordinary refusal, and `data.limit`
 * holds the name of the constant. A value out of its range is `invalid-params`.
 */

// The API.
export const messageBytesMax = 1024 * 1024;
export const openFrameBytesMax = messageBytesMax + 4096; // Of a frame without encryption: above `messageBytesMax`, so that the service can answer a message that is too long.
export const jsonDepthMax = 64;
export const batchRequestsMax = 100;
export const batchAnswersCharsMax = 1024 * 1024; // With more, the caller must repeat the rest of the batch: a hundred of the longest answers would be 100 MB.
export const inFlightPerConnectionMax = 64;
export const connectionsMax = 256; // Each may have 4 MiB of unread output; a home has a few phones and programs.
export const connectionsPerAddressMax = 16; // Of one remote address: a browser opens a few per page.
export const connectionsForDevice = 32; // Of all, reserved for callers on the device, so that a remote flood cannot take them.
export const unsealedMax = 4; // Remote connections without a proven secret: each may hold a frame in memory: 1.5 MB, or 3 MB if its characters take two bytes.
export const unsealedPerAddressMax = 2; // At a limit the oldest of the address is evicted, else the oldest of all.
export const unsealedStayMs = 500; // The minimum age for that eviction; if all are younger, a new connection is refused.
export const provenAddressesMax = 64; // Remembered addresses of clients with a proven secret; a new connection from one of them is accepted.
export const anonymousMax = 16; // Anonymous TLS connections: each may hold 1 MiB of a frame in memory. A home has fewer.
export const anonymousPerAddressMax = 8; // At a limit the connection that was idle for longest is evicted.
export const descriptorsMax = 16_384; // In use: above it remote connections are refused. If the system's limit is low, three quarters of that.
export const descriptorsForTlsMax = 4096; // The same for TLS: 25 MB of idle connections. If the system's limit is low, half of that.
export const bodiesMax = 8; // Bodies of remote requests that are read at a time, 1 MiB each.
export const bodiesPerAddressMax = 4; // At a limit the oldest of the address is evicted, else the oldest of all.
export const handshakesPerSecondMax = 20; // Of all remote callers: 1 ms of work each, 10 on a board.
export const handshakesAfterFailuresPerSecondMax = 5; // Of all addresses with as many failures as the next line says: one address may ask 1.7 times a second.
export const handshakeFailuresMax = 10; // Consecutive ones of one address; then its wrong tokens are blocked.
export const handshakeBlockMsMin = 30_000; // Doubled with each further failure.
export const handshakeBlockMsMax = 30 * 60_000; // Also the time without a failure after which the count is dropped.
export const requestsWaitingMax = 8192; // Of all connections: a fast machine serves as many in a few hundredths of a second.
export const requestsWaitingBytesMax = 8 * 1024 * 1024;
export const unsentBytesMax = 4 * 1024 * 1024;
export const unsentWhileAskingMax = 512 * 1024; // Of one remote connection: above it no further request is accepted until it has read.
export const unsentOnDeviceWhileAskingMax = 2 * 1024 * 1024; // The same of a caller on the device, which may send a few long questions at once.
export const anonymousBytesPerSecondMax = 1024 * 1024; // Sent to all anonymous TLS callers together; above it they must wait.
export const anonymousBytesBurst = 4 * 1024 * 1024;
export const shortMessageBytesMax = 4096; // A longer one of a caller without an identity counts by its bytes. Requests of the known apps have a few hundred bytes.
export const anonymousMessagesPerSecondMax = 400; // Of all callers without an identity together, four times as many at once.
export const anonymousMessagesPerConnectionMax = 64; // The same of one connection; above it the connection is closed.
export const anonymousReceivedBytesPerSecondMax = 1024 * 1024; // Of their longer messages together, refused ones included.
export const anonymousParsedBytesPerSecondMax = 512 * 1024; // Of those that are not refused: 1 MiB of small values takes 30 ms to parse, 300 on a board.
export const anonymousBytesPerConnectionMax = 64 * 1024; // A second, after one message of the longest; above it the connection is closed.
export const anonymousJsonValuesMax = 10_000; // Of one message of a caller without an identity: a batch of a hundred has some thousand.
export const launchesFromAfarPerSecondMax = 20; // Also of their virtual cards: nobody taps faster, and each causes a notification to all listeners.
export const writesPerMinuteMax = 60; // Disk writes by one remote client; a launch is one, because of its row in the history.
export const writesPerDayMax = 2000;
export const anonymousWritesPerMinuteMax = 240; // Of all callers without an identity together, however many addresses they have.
export const anonymousWritesPerDayMax = 8000;
export const auditObjectCharsMax = 128; // Of the object of a change, in a line of the audit log.
export const unsentInAllBytesMax = 8 * 1024 * 1024; // Of all remote connections: above it the one with the most unread output is closed.
export const requestIdCharsMax = 1024; // An id is echoed back; a UUID has 36.

// Scripts and tokens.
export const scriptBytesMax = 16 * 1024; // A UID may be as long: apps send the text of a scanned code as UID and as text.
export const scriptCommandsMax = 64;
export const launchShownCharsMax = 600; // Of the text of a launch link, on the page that asks: one screen of a phone, so that nobody overlooks its end.
export const tokenTypeCharsMax = 64;
export const tokenDataCharsMax = 16 * 1024; // Hex: twice the largest tag memory that we read, with room.
export const delayMsMax = 10 * 60 * 1000; // A card may wait, but not block the queue forever.

// Launching.
export const launchQueueMax = 64; // A person cannot tap faster; a program gets `busy`.
export const launchesForCardsMax = 16; // Further places, for cards on readers alone, so that queued launches of others delay no card.
export const untrustedLaunchesMax = 8; // Of the queue, for callers that may only play.
export const untrustedDelayMsMax = 10_000; // In all, of one script that is not trusted: others wait for it.
export const cardsGoneMax = 128; // Cards that were removed while their launch waited: twice the queue.
export const mediaMsMax = 2 ** 48; // Of a position or length that a player reports: 8,900 years. Restored times are no later.
export const launchErrorCharsMax = 8 * 1024; // The reason of a failed launch: a path and the end of a player's error output have 4 KiB each.
export const hooksRunningMax = 16; // Scripts of hooks at one time; a card at the edge of the field must not pile them up.
export const discsMax = 20; // Of one game: the longest has 12 floppies or 7 CDs.
export const playlistItemsMax = 10_000; // Because of the memory for a shuffled list; nobody plays more.
export const playlistShownMax = 100; // Items of a playlist that was opened, in one answer: a list to choose from.
export const playlistFailuresMax = 100; // Items in a row that cannot be played, before a playlist ends.
export const playTimeMinutesMax = 7 * 24 * 60;
export const playTimeWarningsMax = 16;
export const playDaysKeptMax = 31;
export const historyRowsMax = 10_000;
export const historyPageMax = 1000;
export const historyPageCharsMax = 1024 * 1024; // Of the texts of one page: 1000 of the longest are 66 MB.
export const damagedFilesMax = 3; // Databases that were set aside: enough to look into, too few to fill an SD card.

// Readers.
export const readersMax = 32;
export const tokensPerReaderMax = 8;
export const readerLineBytesMax = 36 * 1024; // A text and a UID of 16 KiB each, and the words around them.
export const readerFileBytesMax = 36 * 1024; // The same, of a file that stands for a card.
export const readerTapsPerSecondMax = 10; // Of a reader that sends lines or types; a hand is slower.
export const typedCharsMax = 4296; // The longest text of a QR code (ISO/IEC 18004, version 40-L).

// Tags and frames.
export const ndefBytesMax = 8 * 1024;
export const chipFrameBytesMax = 264; // The longest payload of a frame that a reader chip sends (NXP UM0701-02, 6.2.1.2).
export const fifoBytesMax = 64; // A frame in the buffer of an MFRC522 (NXP MFRC522, 8.3), CRC included.
export const apduBytesMax = 4096; // An answer of a card to one command; we ask for no more than 255 bytes at a time.

// USB.
export const usbDevicesMax = 127; // Devices that one bus can address (USB 2.0, 4.1).
export const ccidMessageBytesMax = 65_544 + 10; // The longest that a CCID reader may announce (CCID 1.1, 5.1).
export const ccidExtensionsMax = 20; // Times that a reader may ask for more time for one command.

// Files and processes.
export const configBytesMax = 1024 * 1024;
export const configSavedBytesMax = 64 * 1024; // The largest file after a change by the API: each change reads the file several times, 50 ms.
export const launchersMax = 256;
export const argvMax = 64;
export const playerWordsBytesMax = 4096; // The end of a player's error output; people read no more of it.
export const playerLineBytesMax = 64 * 1024; // One message of a player's protocol; a title or an error has a few hundred.
export const playerLinesASecondMax = 1000; // Of a player's protocol; mpv sends some 100 while a key seeks, and a flood must not occupy the service.
export const playerBytesASecondMax = 256 * 1024; // As above, in bytes. A message of `playerLineBytesMax` must fit in.
export const playerRequestsMax = 32; // Without an answer: far fewer than the socket buffers, so that writing never blocks.
export const mediaReadyMsMax = 60_000; // A script may wait for a slow disc, but not block the queue forever.
export const hostNameCharsMax = 261; // RFC 1035, 2.3.4, with `*.` or a port.
export const streamTitleCharsMax = 255; // Of a station or its song: a line on a screen.
export const mediaFolderMsMax = 1000; // A drive that slept answers in `health` the next time.
export const stopGraceSecondsMax = 30; // Of one launcher: the next card waits as long for a player that does not end.
export const launcherEnvironmentMax = 64; // Variables for one launcher.
export const configListMax = 1000; // Systems or endings of one launcher: more than there are.

// Faults that the machine's own start found.
export const machineFaultsMax = 16;
export const machineFaultBytesMax = 1024; // A sentence, or the line of the watchdog's state file.

// Over the API.
export const scanMsMax = 60 * 60 * 1000; // A virtual card that is never removed would hide every later one.
export const mappingPatternBytesMax = 4096;
export const mappingOverrideBytesMax = 4096;
export const mappingLabelCharsMax = 255;
export const mappingsMax = 10_000; // Nobody owns more cards, and the matcher is built for as many.
export const mappingsCharsMax = 2 * 1024 * 1024; // Of all labels, patterns and overrides: a list of them is one answer, and a start reads them all.
export const clientsMax = 256;
export const clientNameCharsMax = 255;
export const clientUseSavedMs = 60 * 60 * 1000; // Between two writes of a client's last use: a program that connects each minute must not wear an SD card.
export const revocationUndoMs = 10_000; // The time in which a revoked client can be restored.
export const pairingLinkMs = 10 * 60 * 1000; // For the first use of a pairing link; an unused one is deleted.
export const searchQueryCharsMax = 1024;
export const searchResultsMax = 1000;
export const searchPlacesMax = 5000; // Results that pages reach. With USB sticks a page merges its results with all before it, which takes a PC 50 ms for the last page.
export const searchSystemsMax = 512;
export const settingsListMax = 256;
export const settingsTextCharsMax = 4096; // A path: PATH_MAX of Linux.
export const insertModeExitDelaySecondsMax = 24 * 60 * 60; // A day: more is a mistake in the config.

// The log, and the audit log.
export const logUnsentCharsMax = 1024 * 1024; // Lines that wait because stderr accepts none.
export const logPageMax = 500; // Lines of one answer over the API.
export const logTextCharsMax = 200; // Of a text that is looked for in it.
export const logWaitMsMax = 25_000; // Of a caller that follows it: known clients give up at 30 s.
export const logWaitersMax = 32; // Callers that follow it at a time, because each new line is compared for each.
export const auditPageMax = 1000;
export const auditFileBytesMax = 128 * 1024; // Some 1,000 lines.
export const auditFilesMax = 4; // Of each of the two kinds of audit files: 1 MiB in all.
export const auditKindsMax = 64; // Addresses and reasons that are counted one by one at a time; the rest is counted as one.
export const auditBufferBytesMax = 64 * 1024; // Lines that wait because the disk accepts none.

// HTTP.
export const requestsPerMinuteMax = 100;
export const requestBurstMax = 20;
export const requestsPerSecondMax = 200; // Of all remote addresses together.
export const turnedAwayPerSecondMax = 500; // Refusals without encryption; each costs 0.1 ms, 1 on a board. Above it the service accepts nothing for a second.
export const turnedAwayByTlsPerSecondMax = 100; // The same over TLS, because each has cost a handshake.
export const ratedAddressesMax = 4096; // A few bytes are kept for each address until its allowance is full again.
export const eventsKeptMax = 256; // Events of each right that are kept for listeners that reconnect.
export const eventsKeptBytesMax = 256 * 1024; // The same in bytes: an event with a long card's text has 64 KiB.

// MQTT (src/mqtt).
export const mqttTapsKeptMax = 100; // Taps that wait until a broker has taken them; then the oldest is dropped.
export const mqttEventMsMax = 5000; // The age of a tap or a launch at which no automation may act on it any more.
export const mqttCommandBytesMax = 64 * 1024; // The params of one command: four of the longest scripts.
export const mqttCommandsPerSecondMax = 20; // Of all senders together; the broker hides who they are.
export const mqttUnsentBytesMax = 2 * 1024 * 1024; // Output that the broker does not read: two of the longest answers. Then the connection is closed.
export const sleepMinutesMax = 24 * 60; // Of the sleep timer.
export const mqttPasswordCharsMax = 1024; // As set over the API.
export const mqttFileBytesMax = 64 * 1024; // A password, a key, a chain of certificates, or the list of retained topics.
export const mqttReconnectMsMin = 1000; // Before the next try, chosen at random up to the maximum, so that a fleet does not come back at once.
export const mqttReconnectMsMax = 30_000;
export const mqttConnectMsMax = 10_000; // For TCP, TLS and the broker's answer.
export const mqttLeftoversMsMax = 10 * 60_000; // For a try to remove what an earlier run left at a broker; the next start tries again.
export const mqttRivalMs = 10 * 60_000; // Another device that used this device's id is reported for this long after it was last seen.
export const certificateWarnDays = 30; // Before a certificate ends, `health` says so: time to send another one, or a card.
export const mqttFarewellMs = 300; // At a stop, for the broker to take "offline".

// Serial lines.
export const serialBaudRateMax = 12_000_000; // Baud; the fastest USB converter (12 Mbaud, FTDI FT232H data sheet).

// Mappings, beyond what the API takes.
export const mappingFilesMax = 256;
export const mappingFileBytesMax = 1024 * 1024;
// Outside of texts, in the part of a mapping file that is parsed at once. The parser's time grows with the square of the
// dots of a key: 18 ms for 1,000 of them, 4 s for 16,000. A list of 2,048 items takes it 5 ms.
export const mappingDotsMax = 16;
export const mappingListMarksMax = 2048;
export const mappingLinesMax = 16; // Keys and tables of one mapping, which has at most six: 8,000 take the parser 270 ms.
export const mappingImportCharsMax = 768 * 1024; // Of one import: with its quotes and line ends escaped it fits into a message.
export const importFaultsMax = 100; // Lines that the answer to an import names; a person repairs no more at a time.
export const cardsBundleBytesMax = 8 * 1024 * 1024; // Of a bundle of shared cards: 10,000 mappings have 2 MB.
export const cardsFetchMsMax = 5 * 60_000; // To fetch one: 8 MiB at 30 KB/s.
export const cardsNameCharsMax = 128; // Of the name of a file in it.
// Enabled mappings that a tap compares one by one, in the database and again in files. Full sets of ordinary ones take a tap 0.1 ms
// on a server processor of 2.7 GHz. Sets of hostile ones take it up to 0.7 s for each new text of full length (`make bench`).
export const regexMappingsMax = 100;
export const partialMappingsMax = 1000;
export const patternFieldCharsMax = 1024; // Of a field, that partial patterns and regular expressions read: 512 bytes of data, and more text than a tag of the kind NTAG215 holds.
export const regexWrittenOutMax = 20_000; // Steps, estimated before the engine writes repetitions out, which takes 0.7 µs for each.
export const regexPropertiesMax = 32; // `\p{...}` in one pattern: each adds up to 1,300 ranges of characters.
export const regexStepsMax = 5000; // Of a compiled pattern; 4 KiB of plain text has as many.
export const mappingRegexStepsMax = 250; // Beyond its memory the engine backtracks, if 1,024 characters times the steps are at most 262,144. With more steps it cannot, and takes ten times as long.
export const regexMemoryBytesMax = 64 * 1024; // Of the states that a compiled pattern keeps: a few MB for all patterns that are ready.

// Patterns of the config file, which match whole texts.
export const patternsReadyMax = 512;

// The secure layer.
export const sealedMessageBytesMax = 65_535; // Of one transport message (Noise revision 34, 3).
export const sealedFrameCharsMax = 1536 * 1024; // A payload of 1 MiB takes 1,398,496; the rest is for other ways to write JSON.
export const handshakeCharsMax = 1024; // It takes some 150.
export const sealedClientIdCharsMax = 64; // A UUID has 36.
export const pairingHostCharsMax = 253; // Of a host name (RFC 1035, 2.3.4).
export const pairingDigits = 6; // A million codes.
export const pairingTriesMax = 3; // Proofs in one opening, from whatever address.
export const pairingOpenMs = 10 * 60 * 1000; // Time to take a phone out and type.
export const pairingHellosMax = 16; // Exchanges without a proof in one opening; then the oldest is evicted. On sockets `unsealedMax` is lower.
export const pairingHellosPerAddressMax = 4; // An address with more evicts its own oldest.
export const pairingSharesKeptMax = 16_384; // Shares that one opening remembers sending: `handshakesPerSecondMax` in `pairingOpenMs` makes 12,000.
// Wrong codes delay the next proof, in one count over all openings, addresses and restarts. Three are free, at 0 min. The
// fourth comes at 1 min, then at 3, 7 and 15 min, then one each 15 min. That gives 7 + (1440 - 15) / 15 = 102 in a day.
// Each is right with a chance of 10^-6, so a day of guessing succeeds with 0.0102 %; below 0.1 % are 999 guesses.
export const pairingWrongCodesFree = 3;
export const pairingDelayMsMin = 60 * 1000; // After the last free one; twice as long after each further one.
export const pairingDelayMsMax = 15 * 60 * 1000; // Short enough for an owner, since a neighbour who guesses can cause it too.
export const pairingWrongCodesKeptMs = 24 * 60 * 60 * 1000; // After the last one the count starts again at zero.
export const earlyFramesMax = 16; // Frames before the answer to their handshake; only version 1 may send some.
export const earlyFrameCharsMax = 64 * 1024; // Of all of them.

// The secure layer, version 1 (known clients).
export const v1ClientsMax = 50;
export const v1ClientNameBytesMax = 128;
export const v1PakeBytesMax = 2048;
export const v1PairBodyBytesMax = 16 * 1024;
export const v1PinMsMax = 5 * 60_000;
export const v1PinTriesMax = 3; // On the whole device, by all callers: one chance in 333,333.
export const v1ExchangesMax = 12; // Begun with one PIN. Each takes some 10 ms of work, 100 on a board.
export const v1ExchangeMsMax = 2 * 60_000;
export const v1FirstFrameCharsMax = 64 * 1024; // It carries the first request, before its sender has proved anything.
export const v1TokenCharsMax = 64; // A UUID has 36.
export const v1SaltsPerClientMax = 100_000; // Sessions of one client: 50 a day for five years, 3 MB; then it must pair again.

// The media index, uploads (`upload-limits.ts`), and BIOS files.
export * from "./upload-limits.ts";
export const folderDepthMax = 64; // Nested folders below a system's; deeper ones are a loop.
export const playlistBytesMax = 256 * 1024; // A playlist of discs has a few lines; a longer file is something else.
export const indexedFilesMax = 8_000_000; // As many fit into the memory of a PC while they are sorted.
export const titleCandidatesMax = 250; // Files of one title, or near it, that are weighed against each other: 1 ms.
export const titleCharsMax = 1024; // Of a wanted title with its tags: four times the longest name of a file.
export const titleTagsMax = 32; // Of a wanted title: 3,000 take 0.7 s to compare with the tags of so many files.
export const browseResultsMax = 1000; // Entries of one page of a folder.
export const foundFoldersMax = 100; // Results of `media.folders`.
export const tappedCardsMax = 500; // Of `tokens.cards`.
export const historyCursorCharsMax = 32;
export const browseCursorCharsMax = 8192; // It holds one name, twice, each byte of it in up to six characters.
export const browsePathCharsMax = 4096; // Of a folder of the index (limits.h, PATH_MAX).
export const pagesPerConnectionMax = 4; // Pages of folders and lists of tags at a time: a page of 1000 entries has some 0.5 MB.
export const filteredSearchMax = 1_000_000; // Results of a search whose tags are looked at: 8 MB while it runs, some seconds of a PC.
export const tagConditionsMax = 32; // Conditions on the tags of files.
export const tagsPerSystemMax = 5000; // Different ones that are counted: games have some hundred, and songs one each at worst.
export const tagsPerTypeMax = 100; // Of one type in an answer, the most frequent first.
export const pictureFileBytesMax = 16 * 1024 * 1024; // A scanned cover has 5 MB.
export const pictureBytesMax = 512 * 1024; // As sent: in base64 twice, as in a sealed frame, it stays below 1 MiB, which many clients accept at most.
export const picturePixelsMax = 12_000_000; // While one is made smaller, it takes 4 bytes of memory for each.
export const pictureEdgeMax = 8192; // Of `maxSize`, in pixels.
export const pictureMsMax = 10_000; // For one picture; a drive that sleeps needs some seconds.
export const picturesWaitingMax = 64; // In all, because one is made after another; each takes some 50 ms. Half of them for callers without the right `change`.
export const picturesPerConnectionMax = 3; // At a time: with three more unread answers, a connection stays below `unsentBytesMax`.
export const pictureListBytesMax = 16 * 1024 * 1024; // Of a gamelist.xml: some 1 KB for each of 10,000 games.
export const pictureGameBytesMax = 64 * 1024; // Before and after the path of a game in it: some 2 KB, and no million of pictures.
export const embeddedPicturesMax = 20_000; // Kept of audio files, small: one for each album, some 30 KB.
export const folderLengthFilesMax = 5000; // Audio files whose lengths are added up for a folder: 1 ms.
export const tagCharsMax = 512; // Of a title, an artist or an album: longer than any on a cover.
export const tagTriesMax = 3; // Readings of a file that did not end: after these it has no tags until it changes.
export const buttonsMax = 64; // Of `[[buttons]]`: a case has a dozen.
export const buttonTeachingMs = 30_000; // As long as a teaching waits for a press: enough for a walk to the device.
export const buttonTeachingsPerHourMax = 20; // Each tells its owner a key that was pressed, so that a password is not read so.
export const knobStepsMax = 4; // Scripts of one event of a knob, which may report several steps.
export const caseLightsMax = 64; // LEDs of the case: more than on the strips that a case has.
export const televisionStandbyMinutesMax = 1440; // A day.
export const playsRowsMax = 2000; // Kept in the history of played media.
export const menuEntriesMax = 5000; // Of one folder on the television; each is a tile, and 5,000 take 2 MB.
export const favouritesMax = 200; // The page shows all of them at once.
export const positionsMax = 1000; // Kept, one for each sound or film: some 100 KB of memory.
export const playsPageMax = 100;
export const sticksMax = 16; // USB sticks, or their partitions, at the same time; a hub has some seven ports.
export const stickIndexesMax = 8; // Sticks whose index is kept for when they come again: some MB each.
export const scanComplaintsMax = 100; // Lines of the log for one run of the index; the rest is counted.
export const coreInfoBytesMax = 64 * 1024; // Of a core's .info file; the longest published one has 20 KB.
export const retroArchSettingsBytesMax = 1024 * 1024; // Of retroarch.cfg; a complete one has some 100 KB.
export const firmwareFilesMax = 16; // Of one core that are looked for before a game starts.

// Expressions in scripts.
export const expressionPartsMax = 1024; // Operands and operators in one script; each is evaluated once.
export const expressionDepthMax = 64; // Nested brackets and operators; nobody reads more.
export const numberDigitsMax = 15; // A double holds as many exactly.
export const numberDecimalsMax = 6; // With more, small ones would be written with an exponent.

// Requests and programs of scripts.
export const webRequestMsMax = 10_000; // With all its redirects, because the next cards wait for it.
export const webHeadBytesMax = 16 * 1024; // Of an answer; common servers send no more themselves.
export const webBodyBytesMax = 1024 * 1024; // It is read and dropped.
export const webRedirectsMax = 5;
export const webAddressesMax = 4; // Of one name, tried one after another.
export const executeMsMax = 60_000; // A program of a card; a long-running one should be a player, or a service of the owner.
export const executeOutputBytesMax = 64 * 1024; // Kept of what it writes, for the log; the rest is read and dropped.

// The command line, and virtual keyboards and gamepads.
export const writeListBytesMax = 1024 * 1024; // Ten thousand cards, as many as anybody owns.
export const macroKeysMax = 512; // Presses of one macro: some lines of text.
export const macroMsMax = 60_000; // Of one macro, because the next cards wait for it.
export const macrosWaitingMax = 16; // Macros that wait until the present one has ended.
export const soundsPerWindowMax = 8; // Sounds of feedback in four seconds: enough for the taps of a person.

/** At the start tapdeck-confine reports whether it can confine players; it takes a few milliseconds. */
export const confineProbeMsMax = 5000;
export const spareMessageBytesMax = 32 * 1024; // The program and arguments of a player, as in watchdog/spare.h; a player with more starts without the spare.
export const holdersMsMax = 20_000; // A search for the processes that hold a caller's socket, 5 ms for 100 processes; without a result the caller is a stranger.
export const portHolderEndMsMax = 2000; // The time for a killed player to leave a port; the start fails after it.
export const provedCallersMax = 1024; // Callers over TCP on this device that are not checked again at each request.
export const provedCallersMsMax = 60_000;
export const ordinaryProcessMsMax = 100; // For this long a process that had no mark of players is not looked at again.
