/** The owner of a connection, by tables in the kernel's form (proc(5), /proc/net/tcp). */
import { expect, test } from "bun:test";
import { ownerIn as socketsIn, type TcpPeer } from "../../../src/system/socket-owner.ts";

const ownerIn = (tables: readonly string[], from: TcpPeer) => socketsIn(tables, from)?.uid;
const [root, user] = [0, 1000];
const head =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const row = (local: string, remote: string, uid: number, { state = "01", inode = 4711 } = {}) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1`;
const table = (...rows: readonly string[]) => [head, ...rows, ""].join("\n");

// 127.0.0.1:50000 calls 127.0.0.1:7497; 127.0.1.1 is the same service.
const [caller, service, other] = ["0100007F:C350", "0100007F:1D49", "0101007F:1D49"];
const peer = { address: "127.0.0.1", port: 50000, servicePort: 7497 };
const mapped = (place: string) => `0000000000000000FFFF0000${place}`;

test("a connection of the device with itself is its caller's", () => {
  expect(ownerIn([table(row(caller, service, user), row(service, caller, root))], peer)).toBe(user);
});

test("the service's side may stand in the table of IPv6", () => {
  const tables = [table(row(caller, service, user)), table(row(mapped(service), mapped(caller), root))];
  expect(ownerIn(tables, peer)).toBe(user);
});

test("another host's connection has no row of its caller, and is nobody's", () => {
  expect(ownerIn([table(row(service, caller, root))], peer)).toBeUndefined();
});

test("a row to another address of the service does not speak for the caller", () => {
  expect(ownerIn([table(row(caller, other, root), row(service, caller, root))], peer)).toBeUndefined();
  const both = [row(caller, other, root), row(other, caller, root), row(service, caller, root)];
  expect(ownerIn([table(...both)], peer)).toBeUndefined();
});

test("connections of two users with one address and port are nobody's", () => {
  const services = [row(service, caller, root), row(other, caller, root)];
  const mixed = table(row(caller, service, root), row(caller, other, user), ...services);
  expect(ownerIn([mixed], peer)).toBeUndefined();
  const same = table(row(caller, service, user), row(caller, other, user), ...services);
  expect(ownerIn([same], peer)).toBe(user);
});

test("a socket that its program has closed is nobody's", () => {
  for (const end of [{ inode: 0 }, { state: "04" }, { state: "06", inode: 0 }])
    expect(
      ownerIn([table(row(caller, service, root, end), row(service, caller, root))], peer),
    ).toBeUndefined();
});

test("an earlier connection that is over, or one that is not accepted yet, does not matter", () => {
  const rest = [row(caller, service, user), row(service, caller, root)];
  for (const state of ["03", "06", "0C"])
    expect(ownerIn([table(row(other, caller, root, { state, inode: 0 }), ...rest)], peer)).toBe(user);
});

test("an address of IPv6 is found in the words in which the kernel prints it", () => {
  const [from, to] = ["000077FD000000000000000002000000:C350", "000077FD000000000000000001000000:1D49"];
  const own = { address: "fd77::2", port: 50000, servicePort: 7497 };
  expect(ownerIn([table(row(from, to, user), row(to, from, root))], own)).toBe(user);
});

test("the sockets of a caller are known, because its holders decide who it is", () => {
  const rows = [row(caller, service, user, { inode: 81 }), row(service, caller, root, { inode: 82 })];
  expect(socketsIn([table(...rows)], peer)).toEqual({ uid: user, inodes: ["81"] });
  const shared = [row(caller, other, user, { inode: 83 }), row(other, caller, root, { inode: 84 })];
  expect(socketsIn([table(...rows, ...shared)], peer)).toEqual({ uid: user, inodes: ["81", "83"] });
});
