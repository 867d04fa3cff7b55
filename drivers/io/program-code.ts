/**
 * The machine code, the constants and the bundle of this program in memory. A start maps 57 MB of them, and an idle service needs 15 to
 * 25 MB. The rest counts as memory of this process, and the kernel keeps mapped pages longer than others.
 */
import { type FileHandle, open, readFile, readlink } from "node:fs/promises";
import { dropPages } from "./libc.ts";

/**
 * Unmaps them, and returns the number of bytes in these mappings. The kernel maps each page again at its next use, from the page
 * cache unless that memory was needed. A mapping with an anonymous page is kept: this process has written the page, which is not that
 * of the file any more. Rejects if the kernel has no `smaps` (CONFIG_PROC_PAGE_MONITOR).
 */
export async function releaseCode(): Promise<number> {
  const program = await readlink("/proc/self/exe");
  const mappings = mappingsOf(await readFile("/proc/self/smaps", "latin1"), program);
  // The code comes last, because the release of the bundle runs much of it. The kernel may keep `pagemap` from a process that changed
  // its user, and then only the code is released.
  let released = await releaseBundle(program, mappings).catch(() => 0);
  for (const { from, to, isWritable, anonymousKb } of mappings) {
    if (!isWritable && anonymousKb === 0 && dropPages(from, to - from)) released += Number(to - from);
  }
  return released;
}

interface Mapping {
  readonly from: bigint;
  readonly to: bigint;
  readonly isWritable: boolean;
  /** Unknown counts as written. `Private_Dirty` also counts pages of a file that was written a moment ago. */
  readonly anonymousKb: number;
  readonly pageBytes: bigint;
}

/** The private mappings of the program (proc(5), smaps). */
function mappingsOf(smaps: string, program: string): readonly Mapping[] {
  const found = smaps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) r(.).p \S+ \S+ \d+ +(\/.*)\n((?:\w+:.*\n)+)/gm);
  return [...found]
    .filter(([, , , , path]) => path === program)
    .map(([, from, to, write, , rows = ""]) => ({
      from: BigInt(`0x${from}`),
      to: BigInt(`0x${to}`),
      isWritable: write === "w",
      anonymousKb: Number(/^Anonymous: +(\d+)/m.exec(rows)?.[1] ?? 1),
      pageBytes: 1024n * BigInt(/^KernelPageSize: +(\d+)/m.exec(rows)?.[1] ?? 0),
    }));
}

/**
 * Unmaps the bundle: the sources and their bytecode, which the compiler of Bun puts into a section of its own. The section lies in a
 * writable mapping, beside the variables of the runtime. The runtime does not write into it. If it ever did, all of it is kept.
 */
async function releaseBundle(program: string, mappings: readonly Mapping[]): Promise<number> {
  const section = await bundleOf(program);
  if (section === undefined) return 0;
  const inside = mappings.find(({ from, to }) => section.from >= from && section.to <= to);
  if (inside === undefined || inside.pageBytes === 0n) return 0;
  const { pageBytes } = inside;
  const first = (section.from + pageBytes - 1n) / pageBytes;
  const count = section.to / pageBytes - first;
  if (count <= 0n || (await isWritten(first, count))) return 0;
  return dropPages(first * pageBytes, count * pageBytes) ? Number(count * pageBytes) : 0;
}

const entryBytes = 8;
const swapped = 1n << 62n;
const present = 1n << 63n;
const isOfFile = 1n << 61n;

/** Whether a page of this process is not that of its file any more (Linux, Documentation/admin-guide/mm/pagemap.rst). */
async function isWritten(firstPage: bigint, count: bigint): Promise<boolean> {
  await using pages = await open("/proc/self/pagemap");
  const bytes = await bytesAt(pages, Number(firstPage) * entryBytes, Number(count) * entryBytes);
  if (bytes === undefined) return true;
  const entries = new BigUint64Array(bytes.buffer);
  return entries.some(
    (entry) => (entry & swapped) !== 0n || ((entry & present) !== 0n && (entry & isOfFile) === 0n),
  );
}

/**
 * The addresses of the section `.bun` of the program; undefined if it has none, or is no 64-bit program at fixed addresses (elf(5),
 * Elf64_Ehdr and Elf64_Shdr).
 */
async function bundleOf(
  program: string,
): Promise<{ readonly from: bigint; readonly to: bigint } | undefined> {
  await using file = await open(program);
  const header = viewOf(await bytesAt(file, 0, 64));
  const isFixed64 = header?.getUint32(0) === 0x7f454c46 && header.getUint8(4) === 2 && u16(header, 16) === 2;
  if (header === undefined || !isFixed64) return undefined;
  const headerBytes = u16(header, 58);
  const table = viewOf(await bytesAt(file, Number(u64(header, 40)), headerBytes * u16(header, 60)));
  const namesAt = u16(header, 62) * headerBytes;
  if (table === undefined || headerBytes < 64 || namesAt + headerBytes > table.byteLength) return undefined;
  const names = await bytesAt(file, Number(u64(table, namesAt + 24)), Number(u64(table, namesAt + 32)));
  if (names === undefined) return undefined;
  for (let at = 0; at < table.byteLength; at += headerBytes) {
    const name = names.subarray(table.getUint32(at, true));
    if (Buffer.from(name.subarray(0, name.indexOf(0))).toString("latin1") !== ".bun") continue;
    const from = u64(table, at + 16);
    return { from, to: from + u64(table, at + 32) };
  }
  return undefined;
}

function u16(view: DataView, at: number): number {
  return view.getUint16(at, true);
}

function u64(view: DataView, at: number): bigint {
  return view.getBigUint64(at, true);
}

function viewOf(bytes: Uint8Array | undefined): DataView | undefined {
  return bytes && new DataView(bytes.buffer);
}

/** Reads `length` bytes; undefined if the file ends before. */
async function bytesAt(file: FileHandle, position: number, length: number): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytesRead === length ? bytes : undefined;
}
