/** Mappings. An id is never given twice: a client that deletes by a stale id must hit nothing. */
export const mappings = `
CREATE TABLE mappings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  added_ms INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  label TEXT NOT NULL,
  type TEXT NOT NULL,
  match TEXT NOT NULL,
  pattern TEXT NOT NULL,
  override TEXT NOT NULL
) STRICT;
`;
