/**
 * Clients of the secure layer's version 1, and the salts of the sessions that each has opened: none opens a second time.
 * They are not part of the backup copy, for a copy that lacks the newest salts would let a recorded session open again.
 */
export const v1Clients = `
CREATE TABLE v1_clients (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL,
  address TEXT NOT NULL,
  added_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE v1_salts (
  client INTEGER NOT NULL,
  salt BLOB NOT NULL,
  PRIMARY KEY (client, salt)
) STRICT, WITHOUT ROWID;
`;
