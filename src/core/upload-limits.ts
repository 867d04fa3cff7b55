/** The limits of uploads. They are part of `limits.ts`, which exports them. */

/** Of one PUT, so that a lost connection costs little. Any request body may have as many. */
export const uploadChunkBytesMax = 1024 * 1024;

/** Longer than any film. The free space is the nearer limit. */
export const uploadFileBytesMax = 256 * 1024 ** 3;

/** Unfinished ones: each is two files. */
export const uploadsMax = 256;

/** Unfinished ones of one client without the right `own`: a quarter, so that one client does not block the others. */
export const uploadsPerClientMax = 64;

/** The part of the room that unfinished uploads of one client without the right `own` may take. */
export const uploadRoomPerClient = 0.5;

/** The part of a disk that a series of uploads without the right `own` leaves free, for saves and for the owner. */
export const uploadDiskKept = 1 / 16;

/** The most bytes of that part: saves need no more, however large the disk is. */
export const uploadDiskKeptBytesMax = 1024 ** 3;

/** Declared by one call, which counts as one disk write. */
export const uploadsPerStartMax = 64;

/** PUTs of remote callers at a time: each has some 400 KB in memory, and with more a disk is no faster. */
export const uploadBodiesMax = 4;

/** At a limit the one that was idle for longest is evicted. */
export const uploadBodiesPerAddressMax = 2;

/** Without a byte of a PUT. An SD card may pause for some seconds. */
export const uploadIdleSecondsMax = 60;

/** Of an unfinished upload, after its last byte. */
export const uploadKeptMs = 7 * 24 * 60 * 60 * 1000;

/** These stay free, because saves and the database may be on the same disk. */
export const uploadFreeBytesMin = 16 * 1024 * 1024;
