/** Clients that may come from afar. The secret is kept as it is: the handshake needs it whole. */
export const clients = `
CREATE TABLE clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  secret TEXT NOT NULL,
  address TEXT NOT NULL,
  added_ms INTEGER NOT NULL
) STRICT;
`;
