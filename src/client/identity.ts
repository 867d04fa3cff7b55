/** What a client from afar shows, and keeps as a password. */
export interface Identity {
  /** Of a client of the device, as `clients.new`, a pairing link or `pair` gave it. */
  readonly id: string;
  /** 64 hex characters. */
  readonly secret: string;
}
