/** What was started last and played: the file, empty for a system alone, its system, and the launcher that started it. */
export const lastMedia = `
CREATE TABLE last_media (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  path TEXT NOT NULL,
  system_id TEXT NOT NULL,
  launcher_id TEXT NOT NULL
) STRICT;
`;
