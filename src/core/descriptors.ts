/** What EMFILE and ENFILE are to people. */
export const noDescriptors =
  "too many files and connections are open at once: the service's limit (nofile) is used up, try again in a minute";

/** The descriptors of this process, which connections from afar must not use up. */
export interface Descriptors {
  /** How many there can be. */
  readonly limit: number;
  /** So many are in use at least; infinity where none is free. */
  used(): number;
  /** How many are in use. It takes milliseconds where they are thousands; infinity where that cannot be read. */
  count(): number;
  /** Some are kept from everybody, */
  keepReserve(): void;
  /** and given back when they are needed. */
  giveReserve(): void;
}
