/** Short audio files with tags in them, as programs write them. They have one second of silence and one picture at most. */

export interface WrittenTags {
  readonly title: string;
  readonly artist: string;
  readonly album: string;
  readonly track: number;
  readonly disc: number;
  /** A picture as PNG. */
  readonly picture?: Uint8Array;
}

/**
 * A file with ID3v2.4 at the start (id3.org, "ID3 tag version 2.4.0 - Main Structure"), and frames of 128 kbit/s at 44.1 kHz.
 */
export function mp3(tags: WrittenTags, seconds = 1): Uint8Array {
  const text = (id: string, value: string) => id3Frame(id, Buffer.concat([Uint8Array.of(3), utf8(value)]));
  const body = Buffer.concat([
    text("TIT2", tags.title),
    text("TPE1", tags.artist),
    text("TALB", tags.album),
    text("TRCK", `${tags.track}/20`),
    text("TPOS", `${tags.disc}/2`),
    ...(tags.picture === undefined
      ? []
      : [id3Frame("APIC", Buffer.concat([utf8("\0image/png\0\x03\0"), tags.picture]))]),
  ]);
  const frame = Buffer.alloc(417);
  frame.set([0xff, 0xfb, 0x90, 0x00]);
  return Buffer.concat([
    utf8("ID3\x04\0\0"),
    synchsafe(body.length),
    body,
    ...Array(Math.ceil((seconds * 44_100) / 1152)).fill(frame),
  ]);
}

function id3Frame(id: string, content: Uint8Array): Uint8Array {
  return Buffer.concat([utf8(id), synchsafe(content.length), Uint8Array.of(0, 0), content]);
}

function synchsafe(length: number): Uint8Array {
  return Uint8Array.of(length >> 21, (length >> 14) & 127, (length >> 7) & 127, length & 127);
}

/** A file with one second of 44.1 kHz in its STREAMINFO, and without frames (RFC 9639, 8). */
export function flac(tags: WrittenTags): Uint8Array {
  const block = (kind: number, content: Uint8Array, isLast = false) =>
    Buffer.concat([Uint8Array.of((isLast ? 0x80 : 0) | kind), uint(24, content.length), content]);
  const info = Buffer.alloc(34);
  info.set([0x10, 0x00, 0x10, 0x00]);
  // The fields are 20 bits of the rate, 3 of the channels less one, 5 of the bits less one, and 36 of the samples.
  info.writeBigUInt64BE((44_100n << 44n) | (1n << 41n) | (15n << 36n) | 44_100n, 10);
  const picture = tags.picture ?? new Uint8Array();
  const described = [
    uint(32, 3),
    sized(utf8("image/png")),
    sized(utf8("")),
    Buffer.alloc(16),
    sized(picture),
  ];
  return Buffer.concat([
    utf8("fLaC"),
    block(0, info),
    ...(tags.picture === undefined ? [] : [block(6, Buffer.concat(described))]),
    block(4, vorbisComment(tags), true),
  ]);
}

function sized(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([uint(32, bytes.length), bytes]);
}

/** Writes a comment block of FLAC and Ogg (xiph.org, "Ogg Vorbis I format specification: comment field"). */
function vorbisComment({ title, artist, album, track, disc }: WrittenTags): Uint8Array {
  const comments = [
    `TITLE=${title}`,
    `ARTIST=${artist}`,
    `ALBUM=${album}`,
    `TRACKNUMBER=${track}`,
    `DISCNUMBER=${disc}`,
  ];
  const sizedLittle = (text: string) => Buffer.concat([little(utf8(text).length), utf8(text)]);
  return Buffer.concat([sizedLittle("test"), little(comments.length), ...comments.map(sizedLittle)]);
}

/** A file with two headers and one second of silence (RFC 7845, 3 and 5). */
export function opus(tags: WrittenTags): Uint8Array {
  const head = Buffer.concat([utf8("OpusHead"), Uint8Array.of(1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0)]);
  const comment = Buffer.concat([utf8("OpusTags"), vorbisComment(tags)]);
  return Buffer.concat([
    oggPage(2, 0, 0, head),
    oggPage(0, 0, 1, comment),
    oggPage(4, 48_000, 2, Uint8Array.of(0xfc)),
  ]);
}

/** A page of Ogg (RFC 3533, 6). */
function oggPage(kind: number, granule: number, number: number, packet: Uint8Array): Uint8Array {
  const lacing = [...Array(Math.floor(packet.length / 255)).fill(255), packet.length % 255];
  const page = Buffer.concat([
    utf8("OggS"),
    Uint8Array.of(0, kind),
    little(granule),
    little(0),
    little(1),
    little(number),
    little(0),
    Uint8Array.of(lacing.length, ...lacing),
    packet,
  ]);
  page.writeUInt32LE(oggSum(page), 22);
  return page;
}

/** A sum with the polynomial 0x04c11db7, from 0, the high bit first (RFC 3533, 6). */
function oggSum(page: Uint8Array): number {
  let sum = 0;
  for (const byte of page) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}

/** A file with one second in the header of its track, and iTunes' list of tags (ISO/IEC 14496-12, 8.4.2 and 8.10.1). */
export function m4a(tags: WrittenTags): Uint8Array {
  const box = (kind: string, ...content: Uint8Array[]) => {
    const body = Buffer.concat(content);
    return Buffer.concat([uint(32, body.length + 8), Buffer.from(kind, "latin1"), body]);
  };
  const data = (kind: number, value: Uint8Array) => box("data", uint(32, kind), uint(32, 0), value);
  const media = Buffer.alloc(24);
  media.writeUInt32BE(44_100, 12);
  media.writeUInt32BE(44_100, 16);
  const handler = (kind: string) => box("hdlr", Buffer.alloc(8), utf8(kind), Buffer.alloc(13));
  const sound = Buffer.concat([
    Buffer.alloc(7),
    Uint8Array.of(1),
    Buffer.alloc(8),
    Uint8Array.of(0, 2, 0, 16),
  ]);
  const samples = box(
    "minf",
    box(
      "stbl",
      box("stsd", uint(32, 0), uint(32, 1), box("mp4a", sound, Buffer.alloc(8))),
      box("stsz", uint(32, 0), uint(32, 1), uint(32, 0)),
    ),
  );
  const track = box(
    "trak",
    box("tkhd", Buffer.alloc(84)),
    box("mdia", box("mdhd", media), handler("soun"), samples),
  );
  const list = box(
    "ilst",
    box("\u00a9nam", data(1, utf8(tags.title))),
    box("\u00a9ART", data(1, utf8(tags.artist))),
    box("\u00a9alb", data(1, utf8(tags.album))),
    box("trkn", data(0, Uint8Array.of(0, 0, 0, tags.track, 0, 20, 0, 0))),
    box("disk", data(0, Uint8Array.of(0, 0, 0, tags.disc, 0, 2))),
    ...(tags.picture === undefined ? [] : [box("covr", data(14, tags.picture))]),
  );
  return Buffer.concat([
    box("ftyp", utf8("M4A "), uint(32, 0), utf8("M4A ")),
    box("moov", track, box("udta", box("meta", uint(32, 0), handler("mdir"), list))),
  ]);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** A number in big-endian order. */
function uint(bits: 24 | 32, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.subarray(4 - bits / 8);
}

function little(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
