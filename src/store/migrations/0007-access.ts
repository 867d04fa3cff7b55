/**
 * Access of clients: the role, the last use, and the end of a pairing link that nobody has used yet. The wrong guesses at
 * pairing codes are kept as well. A time that is NULL means never.
 */
export const access = `
ALTER TABLE clients ADD COLUMN role TEXT NOT NULL DEFAULT 'member';
ALTER TABLE clients ADD COLUMN last_used_ms INTEGER;
ALTER TABLE clients ADD COLUMN expires_ms INTEGER;
ALTER TABLE v1_clients ADD COLUMN last_used_ms INTEGER;
CREATE TABLE pairing_guesses (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  wrong INTEGER NOT NULL,
  last_ms INTEGER NOT NULL
) STRICT;
`;
