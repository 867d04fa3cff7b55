/**
 * The limits of outside input, each with unit and reason. Reaching a limit of load is an ordinary refusal, and `data.limit`
 * holds the name of the constant. A value out of its range is `invalid-params`.
 */

// The API.
export const messageBytesMax = 1024 * 1024;
// A frame without encryption. It is above `messageBytesMax`, so the service can answer a message that is too long.
export const openFrameBytesMax = messageBytesMax + 4096;
export const jsonDepthMax = 64;
export const batchRequestsMax = 100;
// The answers to one batch. Above it the caller must send the rest again: a hundred of the longest answers would be 100 MB.
export const batchAnswersCharsMax = 1024 * 1024;
export const inFlightPerConnectionMax = 64;
export const connectionsMax = 256; // A connection may have 4 MiB of unread output. A home has a few phones and programs.
export const connectionsPerAddressMax = 16; // The connections of one remote address. A browser opens a few per page.
// The part of all connections that is reserved for callers on the device, so a remote flood cannot take them.
export const connectionsForDevice = 32;
// Remote connections without a proven secret. Each may hold a frame in memory: 1.5 MB, or 3 MB if its characters take two bytes.
export const unsealedMax = 4;
export const unsealedPerAddressMax = 2; // At a limit, the oldest connection of the address is evicted, or else the oldest of all.
export const unsealedStayMs = 500; // The minimum age for that eviction. If all connections are younger, a new one is refused.
// Remembered addresses of clients with a proven secret. A new connection from one of them is accepted.
export const provenAddressesMax = 64;
export const anonymousMax = 16; // Anonymous TLS connections. Each may hold 1 MiB of a frame in memory, and a home has fewer.
export const anonymousPerAddressMax = 8; // At a limit the connection that was idle for longest is evicted.
// Descriptors in use. Above this number, remote connections are refused. If the system's limit is low, three quarters
// of that limit apply.
export const descriptorsMax = 16_384;
// If this many descriptors are in use, the TLS port refuses further connections: idle ones take 25 MB by then. If the
// system's limit is low, half of that limit applies.
export const descriptorsForTlsMax = 4096;
export const bodiesMax = 8; // Bodies of remote requests that are read at a time, 1 MiB each.
export const bodiesPerAddressMax = 4; // At a limit the oldest body of the address is evicted, or otherwise the oldest of all.
export const handshakesPerSecondMax = 20; // The handshakes of all remote callers. Each takes a PC 1 ms, and a board 10 ms.
// The handshakes of all addresses with `handshakeFailuresMax` failures. One address may ask 1.7 times a second.
export const handshakesAfterFailuresPerSecondMax = 5;
export const handshakeFailuresMax = 10; // Consecutive failures of one address, after which its wrong tokens are blocked.
export const handshakeBlockMsMin = 30_000; // The first block; each further failure doubles it.
export const handshakeBlockMsMax = 30 * 60_000; // The longest block. After the same time without a failure the count is dropped.
// The requests of all connections. A fast machine answers as many in a few hundredths of a second.
export const requestsWaitingMax = 8192;
export const requestsWaitingBytesMax = 8 * 1024 * 1024;
export const unsentBytesMax = 4 * 1024 * 1024;
// The unread output of one remote connection. Above it no further request is accepted until the caller has read.
export const unsentWhileAskingMax = 512 * 1024;
// The same limit for a caller on the device, which may send a few long requests at once.
export const unsentOnDeviceWhileAskingMax = 2 * 1024 * 1024;
// The bytes that are sent to all anonymous TLS callers together. Above this rate they must wait.
export const anonymousBytesPerSecondMax = 1024 * 1024;
export const anonymousBytesBurst = 4 * 1024 * 1024;
// A longer message of a caller without an identity counts by its bytes. Requests of the known apps have a few hundred bytes.
export const shortMessageBytesMax = 4096;
// The messages of all callers without an identity together. Four times this number may come at once.
export const anonymousMessagesPerSecondMax = 400;
export const anonymousMessagesPerConnectionMax = 64; // The messages of one such connection. Above this rate the connection is closed.
// The bytes of the longer messages of these callers together, and of refused messages.
export const anonymousReceivedBytesPerSecondMax = 1024 * 1024;
// The parsed bytes of messages of these callers, without refused messages. 1 MiB of small values takes 30 ms to parse,
// and 300 ms on a board.
export const anonymousParsedBytesPerSecondMax = 512 * 1024;
// After one of the longest messages, a connection may send this many bytes a second. Above this rate the connection is
// closed.
export const anonymousBytesPerConnectionMax = 64 * 1024;
// The values in one message of a caller without an identity. A batch of a hundred has some thousand.
export const anonymousJsonValuesMax = 10_000;
// The launches and virtual cards of remote callers. Nobody taps faster, and each causes a notification to all listeners.
export const launchesFromAfarPerSecondMax = 20;
export const writesPerMinuteMax = 60; // Disk writes by one remote client. A launch is one write: its row in the history.
export const writesPerDayMax = 2000;
// Disk writes of all callers without an identity together, however many addresses they have.
export const anonymousWritesPerMinuteMax = 240;
export const anonymousWritesPerDayMax = 8000;
export const auditObjectCharsMax = 128; // The object of a change, in a line of the audit log.
// The unread output of all remote connections. Above it the connection with the most is closed.
export const unsentInAllBytesMax = 8 * 1024 * 1024;
export const requestIdCharsMax = 1024; // The answer repeats the id. A UUID has 36 characters.

// Scripts and tokens.
export const scriptBytesMax = 16 * 1024; // A UID may have the same length, because apps also send a scanned text as the UID.
export const scriptCommandsMax = 64;
export const launchShownCharsMax = 600; // The shown part of a launch link's text. It fits on the screen of a phone.
export const tokenTypeCharsMax = 64;
export const tokenDataCharsMax = 16 * 1024; // Hex digits: twice the largest tag memory that we read, with room.
export const delayMsMax = 10 * 60 * 1000; // A card may wait, but must not block the queue forever.

// Launching.
export const launchQueueMax = 64; // A person cannot tap faster. A program gets `busy`.
export const launchesForCardsMax = 16; // Additional places for the cards on readers, so a full queue delays no card.
export const untrustedLaunchesMax = 8; // The part of the queue for callers that may only play.
export const untrustedDelayMsMax = 10_000; // All delays of one script that is not trusted, because others wait for it.
export const cardsGoneMax = 128; // Cards that were removed while their launch waited: twice the queue.
export const mediaMsMax = 2 ** 48; // A position or length that a player reports: 8,900 years. Restored times are no later.
export const launchErrorCharsMax = 8 * 1024; // The reason of a failed launch: a path and the end of a player's error output have 4 KiB each.
export const hooksRunningMax = 16; // Scripts of hooks at one time. A card at the edge of the field must not pile them up.
export const discsMax = 20; // The discs of one game. The longest has 12 floppies or 7 CDs.
export const playlistItemsMax = 10_000; // A shuffled list takes memory, and nobody plays more.
export const playlistShownMax = 100; // The items of an opened playlist in one answer: a list to choose from.
export const playlistFailuresMax = 100; // Consecutive items that cannot be played, after which a playlist ends.
export const playTimeMinutesMax = 7 * 24 * 60;
export const playTimeWarningsMax = 16;
export const playDaysKeptMax = 31;
export const historyRowsMax = 10_000;
export const historyPageMax = 1000;
export const historyPageCharsMax = 1024 * 1024; // The texts of one page. 1000 of the longest are 66 MB.
export const damagedFilesMax = 3; // Databases that were set aside: enough to examine, and too few to fill an SD card.

// Readers.
export const readersMax = 32;
export const tokensPerReaderMax = 8;
export const readerLineBytesMax = 36 * 1024; // A text and a UID of 16 KiB each, and the words around them.
export const readerFileBytesMax = 36 * 1024; // The size of a file that stands for a card.
export const readerTapsPerSecondMax = 10; // The taps of a reader that sends lines or types. A hand is slower.
export const typedCharsMax = 4296; // The longest text of a QR code (ISO/IEC 18004, version 40-L).

// Tags and frames.
export const ndefBytesMax = 8 * 1024;
export const chipFrameBytesMax = 264; // The longest payload of a frame that a reader chip sends (NXP UM0701-02, 6.2.1.2).
export const fifoBytesMax = 64; // A frame in the buffer of an MFRC522 (NXP MFRC522, 8.3), CRC included.
export const apduBytesMax = 4096; // An answer of a card to one command; we ask for no more than 255 bytes at a time.

// USB.
export const usbDevicesMax = 127; // Devices that one bus can address (USB 2.0, 4.1).
export const ccidMessageBytesMax = 65_544 + 10; // The longest message that a CCID reader may announce (CCID 1.1, 5.1).
export const ccidExtensionsMax = 20; // The number of times that a reader may ask for more time for one command.

// Files and processes.
export const configBytesMax = 1024 * 1024;
// The largest file after a change by the API. Each change reads the file several times, which takes 50 ms.
export const configSavedBytesMax = 64 * 1024;
export const launchersMax = 256;
export const argvMax = 64;
export const playerWordsBytesMax = 4096; // The end of a player's error output. People read no more than that.
export const playerLineBytesMax = 64 * 1024; // One message of a player's protocol. A title or an error has a few hundred bytes.
// The messages of a player's protocol. mpv sends some 100 while a key seeks, and a flood must not occupy the service.
export const playerLinesASecondMax = 1000;
export const playerBytesASecondMax = 256 * 1024; // The bytes of these messages. A message of `playerLineBytesMax` must fit.
export const playerRequestsMax = 32; // The unanswered requests: far fewer than the socket buffers hold, so writing never blocks.
export const mediaReadyMsMax = 60_000; // A script may wait for a slow disc, but must not block the queue forever.
export const hostNameCharsMax = 261; // The longest name (RFC 1035, 2.3.4), with `*.` or a port.
export const streamTitleCharsMax = 255; // The name of a station or its song: a line on a screen.
export const mediaFolderMsMax = 1000; // If a drive sleeps, `health` has its answer the next time.
export const stopGraceSecondsMax = 30; // The grace time of one launcher, for which the next card waits.
export const launcherEnvironmentMax = 64; // Variables for one launcher.
export const configListMax = 1000; // Systems or endings of one launcher: more than exist.

// Faults that were found at the start of the machine.
export const machineFaultsMax = 16;
export const machineFaultBytesMax = 1024; // A sentence, or the line of the watchdog's state file.

// Mappings that the API adds.
export const scanMsMax = 60 * 60 * 1000; // A virtual card that is never removed would hide every later one.
export const mappingPatternBytesMax = 4096;
export const mappingOverrideBytesMax = 4096;
export const mappingLabelCharsMax = 255;
export const mappingsMax = 10_000; // Nobody owns more cards, and the matcher is built for this number.
// All labels, patterns and overrides. A list of them is one answer, and a start reads them all.
export const mappingsCharsMax = 2 * 1024 * 1024;
export const clientsMax = 256;
export const clientNameCharsMax = 255;
// The time between two writes of a client's last use. A program that connects each minute must not wear an SD card.
export const clientUseSavedMs = 60 * 60 * 1000;
export const revocationUndoMs = 10_000; // The time in which a revoked client can be restored.
export const pairingLinkMs = 10 * 60 * 1000; // The time until the first use of a pairing link. An unused one is deleted.
export const searchQueryCharsMax = 1024;
export const searchResultsMax = 1000;
// Results that pages reach. With USB sticks a page merges its results with all before it, which takes a PC 50 ms for
// the last page.
export const searchPlacesMax = 5000;
export const searchSystemsMax = 512;
export const settingsListMax = 256;
export const settingsTextCharsMax = 4096; // A path may have this length (PATH_MAX of Linux).
export const insertModeExitDelaySecondsMax = 24 * 60 * 60; // The limit is a day, because more is a mistake in the config.

// The log, and the audit log.
export const logUnsentCharsMax = 1024 * 1024; // Lines that wait because stderr accepts none.
export const logPageMax = 500; // Lines of one answer over the API.
export const logTextCharsMax = 200; // A text that is searched for in the log.
export const logWaitMsMax = 25_000; // The wait of a caller that follows the log. Known clients give up after 30 s.
export const logWaitersMax = 32; // Callers that follow the log at a time. Each new line is compared for each of them.
export const auditPageMax = 1000;
export const auditFileBytesMax = 128 * 1024; // About 1,000 lines.
export const auditFilesMax = 4; // The number of files of each of the two kinds of audit logs: 1 MiB in all.
export const auditKindsMax = 64; // Addresses and reasons that are counted separately; all others are counted together.
export const auditBufferBytesMax = 64 * 1024; // Lines that wait because the disk accepts none.

// HTTP.
export const requestsPerMinuteMax = 100;
export const requestBurstMax = 20;
export const requestsPerSecondMax = 200; // The requests of all remote addresses together.
// Refusals of connections without encryption. Each takes 0.1 ms, and 1 ms on a board. Above this rate the service accepts
// nothing for a second.
export const turnedAwayPerSecondMax = 500;
export const turnedAwayByTlsPerSecondMax = 100; // Refusals over TLS. There are fewer, because each has taken a handshake.
export const ratedAddressesMax = 4096; // A few bytes are kept for each address until its bucket is full again.
export const eventsKeptMax = 256; // Events of each right that are kept for listeners that reconnect.
export const eventsKeptBytesMax = 256 * 1024; // The bytes of these events. An event with the text of a long card has 64 KiB.

// MQTT (src/mqtt).
export const mqttTapsKeptMax = 100; // Taps that wait until a broker has taken them. At the limit the oldest is dropped.
export const mqttEventMsMax = 5000; // The age from which no automation may act on a tap or a launch any more.
export const mqttWayMs = 500; // The part of that age that is left for the way over the broker.
export const mqttCommandBytesMax = 64 * 1024; // The params of one command: four of the longest scripts.
export const mqttCommandsPerSecondMax = 20; // The commands of all senders together, because the broker hides the sender.
// Output that the broker has not read: two of the longest answers. Above it the connection is closed.
export const mqttUnsentBytesMax = 2 * 1024 * 1024;
export const sleepMinutesMax = 24 * 60; // The longest sleep timer.
export const mqttPasswordCharsMax = 1024; // The longest password that the API takes.
export const mqttFileBytesMax = 64 * 1024; // A password, a key, a chain of certificates, or the list of retained topics.
// The pause before the next try. The pause is random up to this maximum, so a fleet does not reconnect at once.
export const mqttReconnectMsMin = 1000;
export const mqttReconnectMsMax = 30_000;
export const mqttConnectMsMax = 10_000; // The time for TCP, TLS and the broker's answer.
// The time for one try to remove the topics that an earlier run left at a broker. The next start tries again.
export const mqttLeftoversMsMax = 10 * 60_000;
export const mqttRivalMs = 10 * 60_000; // Another device that used this device's id is reported for this long after it was last seen.
// The days before the end of a certificate at which `health` reports it, because a new certificate must be sent, or
// brought on a card.
export const certificateWarnDays = 30;
export const mqttFarewellMs = 300; // The time at a stop in which the broker can take "offline".

// Serial lines.
export const serialBaudRateMax = 12_000_000; // The baud rate of the fastest USB converter (12 Mbaud, FTDI FT232H data sheet).

// Limits of mappings besides those of the API.
export const mappingFilesMax = 256;
export const mappingFileBytesMax = 1024 * 1024;
// The next two count marks outside of texts, in the part of a mapping file that is parsed at once. The parser's time
// grows with the square of the dots of a key: 18 ms for 1,000 of them, 4 s for 16,000. The parser takes 5 ms for a list
// of 2,048 items.
export const mappingDotsMax = 16;
export const mappingListMarksMax = 2048;
export const mappingLinesMax = 16; // Keys and tables of one mapping, which has at most six. The parser takes 270 ms for 8,000.
export const mappingImportCharsMax = 768 * 1024; // The text of one import. It fits into a message with its quotes and line ends escaped.
export const importFaultsMax = 100; // The lines that the answer to an import names. A person does not repair more at a time.
export const cardsBundleBytesMax = 8 * 1024 * 1024; // A bundle of shared cards: 10,000 mappings have 2 MB.
export const cardsFetchMsMax = 5 * 60_000; // The time to fetch a bundle: 8 MiB at 30 KB/s.
export const cardsNameCharsMax = 128; // The name of a file in a bundle.
// Enabled mappings that a tap compares one by one, in the database and again in files. Full sets of ordinary mappings
// take a tap 0.1 ms on a server processor of 2.7 GHz. Sets of hostile ones take it up to 0.7 s for each new text of
// full length (`make bench`).
export const regexMappingsMax = 100;
export const partialMappingsMax = 1000;
// The part of a field that partial patterns and regular expressions read: 512 bytes of data, and more text than an NTAG215 holds.
export const patternFieldCharsMax = 1024;
// The steps of an expression. They are estimated before the engine expands its repetitions, which takes 0.7 µs for each.
export const regexWrittenOutMax = 20_000;
export const regexPropertiesMax = 32; // `\p{...}` in one pattern. Each adds up to 1,300 ranges of characters.
export const regexStepsMax = 5000; // The steps of a compiled pattern. 4 KiB of plain text has this many.
// The steps of a mapping's expression. When its memory is full, the engine backtracks if 1,024 characters times the
// steps are at most 262,144. With more steps it cannot, and takes ten times as long.
export const mappingRegexStepsMax = 250;
export const regexMemoryBytesMax = 64 * 1024; // The kept states of a compiled pattern: a few MB for all patterns that are ready.

// Patterns of the config file, which match whole texts.
export const patternsReadyMax = 512;

// The secure layer.
export const sealedMessageBytesMax = 65_535; // The size of one transport message (Noise revision 34, 3).
export const sealedFrameCharsMax = 1536 * 1024; // A payload of 1 MiB takes 1,398,496 characters. The rest is for other ways to write JSON.
export const handshakeCharsMax = 1024; // A handshake takes about 150 characters.
export const sealedClientIdCharsMax = 64; // A UUID has 36 characters.
export const pairingHostCharsMax = 253; // The longest host name (RFC 1035, 2.3.4).
export const pairingDigits = 6; // Six digits are a million codes.
export const pairingTriesMax = 3; // Proofs in one opening, from all addresses together.
export const pairingOpenMs = 10 * 60 * 1000; // The time to take a phone out and type.
// Exchanges without a proof in one opening. At the limit the oldest is evicted. On sockets `unsealedMax` is lower.
export const pairingHellosMax = 16;
export const pairingHellosPerAddressMax = 4; // An address with more exchanges evicts its own oldest.
// The sent shares that one opening remembers. `handshakesPerSecondMax` allows 12,000 of them in `pairingOpenMs`.
export const pairingSharesKeptMax = 16_384;
// Wrong codes delay the next proof, in one count over all openings, addresses and restarts. Three wrong codes cause no
// delay. A guesser who uses these at 0 min may guess again at 1, 3, 7 and 15 min, and then once every 15 min. That gives
// 7 + (1440 - 15) / 15 = 102 in a day. Each guess is right with a chance of 10^-6, so a day of guessing succeeds with a
// chance of 0.0102 %. The chance stays below 0.1 % up to 999 guesses.
export const pairingWrongCodesFree = 3;
export const pairingDelayMsMin = 60 * 1000; // The delay after the last free code. Each further wrong code doubles it.
export const pairingDelayMsMax = 15 * 60 * 1000; // An owner can wait this long, and a neighbour who guesses can cause the wait.
export const pairingWrongCodesKeptMs = 24 * 60 * 60 * 1000; // After this time without a wrong code, the count starts again at zero.
export const earlyFramesMax = 16; // Frames that come before the answer to their handshake. Only version 1 may send some.
export const earlyFrameCharsMax = 64 * 1024; // All early frames together.

// The secure layer, version 1 (known clients).
export const v1ClientsMax = 50;
export const v1ClientNameBytesMax = 128;
export const v1PakeBytesMax = 2048;
export const v1PairBodyBytesMax = 16 * 1024;
export const v1PinMsMax = 5 * 60_000;
export const v1PinTriesMax = 3; // The tries of all callers on the whole device: a chance of one in 333,333.
export const v1ExchangesMax = 12; // Exchanges that may begin with one PIN. Each takes about 10 ms of work, and 100 ms on a board.
export const v1ExchangeMsMax = 2 * 60_000;
export const v1FirstFrameCharsMax = 64 * 1024; // The first frame carries the first request, before its sender has proved anything.
export const v1TokenCharsMax = 64; // A UUID has 36 characters.
export const v1SaltsPerClientMax = 100_000; // Sessions of one client: 50 a day for five years, 3 MB. After that it must pair again.

// The media index, uploads (`upload-limits.ts`), and BIOS files.
export * from "./upload-limits.ts";
export const folderDepthMax = 64; // Nested folders below the folder of a system. Deeper folders are a loop.
export const playlistBytesMax = 256 * 1024; // A playlist of discs has a few lines; a longer file is something else.
export const indexedFilesMax = 8_000_000; // This many fit into the memory of a PC while they are sorted.
export const titleCandidatesMax = 250; // Files of one title, or near it, that are compared with each other, which takes 1 ms.
export const titleCharsMax = 1024; // A wanted title with its tags: four times the longest name of a file.
export const titleTagsMax = 32; // The tags of a wanted title. Comparing 3,000 files with the tags of such a title takes 0.7 s.
export const browseResultsMax = 1000; // Entries of one page of a folder.
export const foundFoldersMax = 100; // Results of `media.folders`.
export const tappedCardsMax = 500; // The cards that `tokens.cards` returns.
export const historyCursorCharsMax = 32;
export const browseCursorCharsMax = 8192; // The cursor holds one name twice, with up to six characters for each byte.
export const browsePathCharsMax = 4096; // A folder of the index (limits.h, PATH_MAX).
export const pagesPerConnectionMax = 4; // Pages of folders and lists of tags at a time. A page of 1000 entries has about 0.5 MB.
// Results of a search whose tags are compared: 8 MB while the search runs, and some seconds of a PC.
export const filteredSearchMax = 1_000_000;
export const tagConditionsMax = 32; // Conditions on the tags of files.
export const tagsPerSystemMax = 5000; // The different tags that are counted. Games have some hundred, and songs one each in the worst case.
export const tagsPerTypeMax = 100; // The tags of one type in an answer, the most frequent first.
export const pictureFileBytesMax = 16 * 1024 * 1024; // A scanned cover has 5 MB.
// A picture as it is sent. In base64 twice, as in a sealed frame, the picture stays below 1 MiB, which is the maximum of
// many clients.
export const pictureBytesMax = 512 * 1024;
export const picturePixelsMax = 12_000_000; // Making a picture smaller takes 4 bytes of memory for each pixel.
export const pictureEdgeMax = 8192; // The largest `maxSize`, in pixels.
export const pictureMsMax = 10_000; // The time for one picture. A drive that sleeps needs some seconds.
// The waiting requests of all callers, because pictures are made one after another, each in about 50 ms. Callers
// without the right `change` get half of the places.
export const picturesWaitingMax = 64;
// The waiting requests of one connection. With three more unread answers the output stays below `unsentBytesMax`.
export const picturesPerConnectionMax = 3;
export const pictureListBytesMax = 16 * 1024 * 1024; // A gamelist.xml: about 1 KB for each of 10,000 games.
// The part of a gamelist.xml that is read before and after the path of a game. A game has about 2 KB.
export const pictureGameBytesMax = 64 * 1024;
export const embeddedPicturesMax = 20_000; // The stored small pictures of audio files: one for each album, about 30 KB.
export const folderLengthFilesMax = 5000; // Audio files whose lengths are added up for a folder, which takes 1 ms.
export const tagCharsMax = 512; // A title, an artist or an album. This is longer than any on a cover.
export const tagTriesMax = 3; // Unfinished attempts to read a file. After them the file has no tags until it changes.
export const buttonsMax = 64; // The entries of `[[buttons]]`. A case has a dozen buttons.
export const buttonTeachingMs = 30_000; // The time in which a button can be taught, which is enough for a walk to the device.
// Each teaching tells the owner a key that was pressed, and a password must not be read in this way.
export const buttonTeachingsPerHourMax = 20;
export const knobStepsMax = 4; // Scripts of one event of a knob, which may report several steps.
export const caseLightsMax = 64; // LEDs of a case. The strips that a case has are shorter.
export const televisionStandbyMinutesMax = 1440; // One day.
export const playsRowsMax = 2000; // The rows in the history of played media.
export const menuEntriesMax = 5000; // The entries of one folder on the television. Each is a tile, and 5,000 take 2 MB.
export const favouritesMax = 200; // The page shows all of them at once.
export const positionsMax = 1000; // The stored positions, one for each sound or film: about 100 KB of memory.
export const playsPageMax = 100;
export const sticksMax = 16; // USB sticks, or their partitions, at the same time. A hub has about seven ports.
export const stickIndexesMax = 8; // Sticks whose index is kept until they are plugged in again: some MB each.
export const scanComplaintsMax = 100; // Lines of the log for one run of the index. The others are counted.
export const coreInfoBytesMax = 64 * 1024; // A core's .info file. The longest published .info file has 20 KB.
export const retroArchSettingsBytesMax = 1024 * 1024; // A retroarch.cfg. A complete database has about 100 KB.
export const firmwareFilesMax = 16; // The BIOS files of one core that are searched for before a game starts.

// Expressions in scripts.
export const expressionPartsMax = 1024; // Operands and operators in one script. Each is evaluated once.
export const expressionDepthMax = 64; // Nested brackets and operators. Nobody reads more digits.
export const numberDigitsMax = 15; // A double holds this many digits exactly.
export const numberDecimalsMax = 6; // With more digits, small numbers would be written with an exponent.

// Requests and programs of scripts.
export const webRequestMsMax = 10_000; // A request with all its redirects. The next cards wait for it.
export const webHeadBytesMax = 16 * 1024; // The head of an answer. Common servers send no longer ones.
export const webBodyBytesMax = 1024 * 1024; // The body of an answer, which is read and dropped.
export const webRedirectsMax = 5;
export const webAddressesMax = 4; // The addresses of one name, which are tried one after another.
export const executeMsMax = 60_000; // A program of a card. A long-running program should be a player, or a service of the owner.
export const executeOutputBytesMax = 64 * 1024; // The part of a program's output that the log keeps. The rest is read and dropped.

// The command line, and virtual keyboards and gamepads.
export const writeListBytesMax = 1024 * 1024; // This is enough for ten thousand cards, and nobody owns more.
export const macroKeysMax = 512; // Presses of one macro: some lines of text.
export const macroMsMax = 60_000; // The time of one macro. The next cards wait for it.
export const macrosWaitingMax = 16; // Macros that wait until the present one has ended.
export const soundsPerWindowMax = 8; // Sounds of feedback in four seconds: enough for the taps of a person.

/** At the start, tapdeck-confine reports whether it can confine players, which takes a few milliseconds. */
export const confineProbeMsMax = 5000;
// The program and arguments of a player, as in watchdog/spare.h. A player with more starts without the spare.
export const spareMessageBytesMax = 32 * 1024;
// The time for the search for the processes that hold a caller's socket; 100 processes take 5 ms. Without a result the
// caller is a stranger.
export const holdersMsMax = 20_000;
export const portHolderEndMsMax = 2000; // The time for a killed player to leave a port. After it the start fails.
export const provedCallersMax = 1024; // Callers over TCP on this device that are not checked again at each request.
export const provedCallersMsMax = 60_000;
export const ordinaryProcessMsMax = 100; // A process that had no mark of players is not checked again for this long.
