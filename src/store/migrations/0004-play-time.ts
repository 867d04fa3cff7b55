/** Play time: how long was played on each day, and in the session that was the last. Days are local dates. */
export const playTime = `
CREATE TABLE play_days (
  day TEXT PRIMARY KEY,
  used_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE play_session (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  day TEXT NOT NULL,
  used_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL
) STRICT;
`;
