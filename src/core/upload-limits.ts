/** The limits of uploads. They are part of `limits.ts`, which exports them. */

/** The body of one PUT. It is small, so a lost connection costs little. Any request body may have this many bytes. */
export const uploadChunkBytesMax = 1024 * 1024;

/** This is longer than any film. The free space of the disk is the lower limit. */
export const uploadFileBytesMax = 256 * 1024 ** 3;

/** Unfinished uploads. Each upload has two files. */
export const uploadsMax = 256;

/** Unfinished uploads of one client without the right `own`: a quarter, so one client does not block the others. */
export const uploadsPerClientMax = 64;

/** The part of the room that unfinished uploads of one client without the right `own` may take. */
export const uploadRoomPerClient = 0.5;

/** The part of a disk that a series of uploads without the right `own` leaves free, for saves and for the owner. */
export const uploadDiskKept = 1 / 16;

/** The maximum of that part, in bytes. Saves need no more, however large the disk is. */
export const uploadDiskKeptBytesMax = 1024 ** 3;

/** The uploads that one call declares. The call counts as one disk write. */
export const uploadsPerStartMax = 64;

/** PUTs of remote callers at a time. Each has about 400 KB in memory, and more of them do not make a disk faster. */
export const uploadBodiesMax = 4;

/** At a limit the PUT that was idle for longest is evicted. */
export const uploadBodiesPerAddressMax = 2;

/** The longest time in which no byte of a PUT arrives. An SD card may pause for some seconds. */
export const uploadIdleSecondsMax = 60;

/** The time that an unfinished upload is kept after its last byte. */
export const uploadKeptMs = 7 * 24 * 60 * 60 * 1000;

/** The space that uploads leave free, because saves and the database may be on the same disk. */
export const uploadFreeBytesMin = 16 * 1024 * 1024;
