/** The history of launches. Times are milliseconds since 1970; `success` is null while the launch runs. */
export const history = `
CREATE TABLE history (
  id INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  type TEXT NOT NULL,
  uid TEXT NOT NULL,
  text TEXT NOT NULL,
  data TEXT NOT NULL,
  reader_id TEXT NOT NULL,
  script TEXT NOT NULL,
  success INTEGER,
  error TEXT
) STRICT;
CREATE INDEX history_time ON history (time_ms);
`;
