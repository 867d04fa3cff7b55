/*
 * A gamepad of Bluetooth LE in the reach of bluetooth-pad.c: its radio (Core Specification 5.4, Vol 4 Part E), legacy pairing without a
 * code (Vol 3 Part H, Security Manager), its attributes (Vol 3 Part F, ATT; HID over GATT Profile 1.0), and its reports.
 */
#include <stdbool.h>
#include <string.h>

#include "bluetooth-pad.h"

enum { attChannel = 4, signalChannel = 5, securityChannel = 6 };

static const uint8_t deck[6] = {0x01, 0x71, 0xda, 0x7d, 0x1a, 0x00}, pad[6] = {0x04, 0x00, 0x00, 0xdc, 0x1b, 0x00};
static const uint8_t name[] = "Test LE";
static bool isAwake, isScanning, isWanted, isConnected, hasKey, hasNotifications;
static long reportAt;
static uint8_t request[7], response[7], confirm[16], ownRandom[16], shortKey[16], longKey[16];
static const uint8_t identification[10] = {0x34, 0x12, 1, 2, 3, 4, 5, 6, 7, 8}; /* EDIV and Rand of the long-term key. */

/* ---- AES-128 (FIPS 197): one block, most significant byte first ---- */

static uint8_t doubled(uint8_t value) { return (uint8_t)(value << 1 ^ (value >> 7) * 0x1b); }

static uint8_t substituted(uint8_t value) {
  uint8_t inverse = 0, result = 0x63;
  for (unsigned other = 1; value != 0 && other < 256 && inverse == 0; other++) {
    uint8_t product = 0, factor = value;
    for (unsigned bits = other; bits != 0; bits >>= 1, factor = doubled(factor))
      if (bits & 1) product ^= factor;
    if (product == 1) inverse = (uint8_t)other;
  }
  for (int turn = 0; turn < 5; turn++) result ^= (uint8_t)(inverse << turn | inverse >> (8 - turn));
  return result;
}

static void encrypt_block(const uint8_t key[16], uint8_t state[16]) {
  uint8_t round[16], mixed[16], constant = 1;
  memcpy(round, key, 16);
  for (int i = 0; i < 16; i++) state[i] ^= round[i];
  for (int number = 1; number <= 10; number++) {
    for (int i = 0; i < 16; i++) mixed[i] = substituted(state[(i + 4 * (i % 4)) % 16]); /* Rows are shifted. */
    for (int column = 0; column < 16; column += 4)
      for (int i = 0; i < 4; i++) {
        const uint8_t *from = mixed + column;
        uint8_t a = from[i], b = from[(i + 1) % 4];
        state[column + i] = number == 10 ? a : (uint8_t)(doubled(a) ^ doubled(b) ^ b ^ from[(i + 2) % 4] ^ from[(i + 3) % 4]);
      }
    for (int i = 0; i < 16; i++) {
      if (i < 4) round[i] ^= (uint8_t)(substituted(round[12 + (i + 1) % 4]) ^ (i == 0 ? constant : 0));
      else round[i] ^= round[i - 4];
    }
    constant = doubled(constant);
    for (int i = 0; i < 16; i++) state[i] ^= round[i];
  }
}

/* The security function e (Vol 3 Part H, 2.2.1). Both are little-endian on the air. */
static void encrypt(const uint8_t key[16], uint8_t block[16]) {
  uint8_t turnedKey[16], turned[16];
  for (int i = 0; i < 16; i++) turnedKey[i] = key[15 - i], turned[i] = block[15 - i];
  encrypt_block(turnedKey, turned);
  for (int i = 0; i < 16; i++) block[i] = turned[15 - i];
}

static const uint8_t noCode[16]; /* The temporary key of a pairing without a code. */

/* The confirm value c1 (2.2.3); both addresses are public. */
static void confirm_of(const uint8_t random[16], uint8_t result[16]) {
  uint8_t first[16] = {0}, second[16] = {0};
  memcpy(first + 2, request, 7);
  memcpy(first + 9, response, 7);
  memcpy(second, pad, 6);
  memcpy(second + 6, deck, 6);
  for (int i = 0; i < 16; i++) result[i] = random[i] ^ first[i];
  encrypt(noCode, result);
  for (int i = 0; i < 16; i++) result[i] ^= second[i];
  encrypt(noCode, result);
}

static void read_security(const uint8_t *bytes, size_t length) {
  uint8_t answer[17], expected[16];
  if (length >= 7 && bytes[0] == 0x01) { /* Pairing Request: the pad has no display and no keys, and gives its long-term key. */
    memcpy(request, bytes, 7);
    memcpy(response, (const uint8_t[]){0x02, 3, 0, 1, 16, 0, 1}, 7);
    send_le(securityChannel, response, 7);
  } else if (length >= 17 && bytes[0] == 0x03) { /* Pairing Confirm. */
    memcpy(confirm, bytes + 1, 16);
    memset(ownRandom, 0x42, 16);
    answer[0] = 0x03;
    confirm_of(ownRandom, answer + 1);
    send_le(securityChannel, answer, 17);
  } else if (length >= 17 && bytes[0] == 0x04) { /* Pairing Random. */
    confirm_of(bytes + 1, expected);
    if (memcmp(expected, confirm, 16) != 0) {
      send_le(securityChannel, (const uint8_t[]){0x05, 0x04}, 2); /* Confirm value failed. */
      say("refused");
      return;
    }
    memcpy(shortKey, bytes + 1, 8); /* The key s1 (2.2.4). */
    memcpy(shortKey + 8, ownRandom, 8);
    encrypt(noCode, shortKey);
    answer[0] = 0x04;
    memcpy(answer + 1, ownRandom, 16);
    send_le(securityChannel, answer, 17);
  }
}

static void give_key(void) {
  uint8_t all[17] = {0x06};
  memset(longKey, 0x77, 16);
  memcpy(all + 1, longKey, 16);
  send_le(securityChannel, all, 17); /* Encryption Information, and after it Central Identification. */
  all[0] = 0x07;
  memcpy(all + 1, identification, 10);
  send_le(securityChannel, all, 11);
  hasKey = true;
  say("paired");
}

/* ---- Attributes: their handle is their place plus one ---- */

static const uint8_t reports[] = {0x05, 0x01, 0x09, 0x05, 0xa1, 0x01, 0x05, 0x09, 0x19, 0x01, 0x29, 0x10, 0x15, 0x00, 0x25, 0x01,
                                  0x75, 0x01, 0x95, 0x10, 0x81, 0x02, 0x05, 0x01, 0x09, 0x30, 0x09, 0x31, 0x15, 0x00, 0x26, 0xff,
                                  0x00, 0x75, 0x08, 0x95, 0x02, 0x81, 0x02, 0xc0};
static uint8_t report[4] = {0, 0, 0x80, 0x80}, notifications[2];
enum { primary = 0x2800, characteristic = 0x2803, reportHandle = 15, lastOfGeneric = 5 };

static const struct {
  uint16_t type;
  uint8_t length;
  const uint8_t *value;
} attributes[] = {
    {primary, 2, (const uint8_t[]){0x00, 0x18}}, /* Generic Access. */
    {characteristic, 5, (const uint8_t[]){0x02, 3, 0, 0x00, 0x2a}},
    {0x2a00, sizeof name - 1, name},
    {characteristic, 5, (const uint8_t[]){0x02, 5, 0, 0x01, 0x2a}},
    {0x2a01, 2, (const uint8_t[]){0xc4, 0x03}},  /* A gamepad. */
    {primary, 2, (const uint8_t[]){0x12, 0x18}}, /* Human Interface Device. */
    {characteristic, 5, (const uint8_t[]){0x02, 8, 0, 0x4a, 0x2a}},
    {0x2a4a, 4, (const uint8_t[]){0x11, 0x01, 0, 2}},
    {characteristic, 5, (const uint8_t[]){0x02, 10, 0, 0x4b, 0x2a}},
    {0x2a4b, sizeof reports, reports},
    {characteristic, 5, (const uint8_t[]){0x04, 12, 0, 0x4c, 0x2a}},
    {0x2a4c, 0, NULL}, /* Control point. */
    {characteristic, 5, (const uint8_t[]){0x12, 15, 0, 0x4d, 0x2a}},
    {0xffff, 0, NULL},
    {0x2a4d, sizeof report, report},
    {0x2902, 2, notifications},
    {0x2908, 2, (const uint8_t[]){0, 1}}, /* Report reference: an input report without an id. */
};
enum { count = sizeof attributes / sizeof *attributes };

static void refuse(uint8_t opcode, unsigned at, uint8_t why) {
  uint8_t all[5] = {0x01, opcode, (uint8_t)at, (uint8_t)(at >> 8), why};
  send_le(attChannel, all, 5);
}

/* Read By Type (08), Read By Group Type (10) and Find Information (04): entries of one size, as many as 23 bytes hold. */
static void list_attributes(uint8_t opcode, unsigned from, unsigned to, unsigned type) {
  uint8_t all[23] = {(uint8_t)(opcode + 1)};
  size_t used = 2, size = 0;
  for (unsigned at = from; at >= 1 && at <= to && at <= count; at++) {
    bool isGroup = opcode == 0x10, isFind = opcode == 0x04;
    uint16_t own = attributes[at - 1].type;
    if (own == 0xffff || (!isFind && own != type)) continue;
    size_t room = isFind ? 4 : attributes[at - 1].length + (isGroup ? 4u : 2u);
    if (size == 0) size = room;
    if (room != size || used + size > sizeof all) break;
    put16(all + used, at);
    if (isGroup) put16(all + used + 2, at == 1 ? lastOfGeneric : count);
    if (isFind) put16(all + used + 2, own);
    else memcpy(all + used + (isGroup ? 4 : 2), attributes[at - 1].value, attributes[at - 1].length);
    used += size;
  }
  all[1] = opcode == 0x04 ? 1 : (uint8_t)size; /* 1 is the format of UUIDs of 16 bits. */
  if (size == 0) refuse(opcode, from, 0x0a); /* Attribute not found. */
  else send_le(attChannel, all, used);
}

static void read_attribute(uint8_t opcode, unsigned at, unsigned offset) {
  uint8_t all[23] = {(uint8_t)(opcode + 1)};
  if (at < 1 || at > count || attributes[at - 1].type == 0xffff) {
    refuse(opcode, at, 0x01);
    return;
  }
  size_t length = attributes[at - 1].length;
  if (offset > length) {
    refuse(opcode, at, 0x07);
    return;
  }
  length = length - offset > 22 ? 22 : length - offset;
  if (length > 0) memcpy(all + 1, attributes[at - 1].value + offset, length);
  send_le(attChannel, all, length + 1);
}

static void read_attributes(const uint8_t *bytes, size_t length) {
  unsigned first = length >= 3 ? get16(bytes + 1) : 0, second = length >= 5 ? get16(bytes + 3) : 0;
  switch (bytes[0]) {
  case 0x02: /* Exchange MTU. */
    send_le(attChannel, (const uint8_t[]){0x03, 23, 0}, 3);
    break;
  case 0x04:
    list_attributes(bytes[0], first, second, 0);
    break;
  case 0x08:
  case 0x10:
    if (length == 7) list_attributes(bytes[0], first, second, get16(bytes + 5));
    else refuse(bytes[0], first, 0x0a);
    break;
  case 0x0a:
    read_attribute(bytes[0], first, 0);
    break;
  case 0x0c:
    read_attribute(bytes[0], first, second);
    break;
  case 0x12:
    send_le(attChannel, (const uint8_t[]){0x13}, 1);
    if (first == reportHandle + 1 && length >= 4) {
      hasNotifications = (bytes[3] & 1) != 0;
      if (hasNotifications) say("connected");
    }
    break;
  default:
    if ((bytes[0] & 0x41) == 0 && bytes[0] != 0x1e) refuse(bytes[0], first, 0x06); /* Not supported. */
  }
}

void read_le_frame(const uint8_t *bytes, size_t length) {
  if (length < 5) return;
  unsigned channel = get16(bytes + 2);
  if (channel == attChannel) read_attributes(bytes + 4, length - 4);
  else if (channel == securityChannel) read_security(bytes + 4, length - 4);
}

/* ---- The radio ---- */

static void meta(uint8_t subevent, const void *rest, uint8_t length) {
  uint8_t all[64] = {subevent};
  memcpy(all + 1, rest, length);
  event(0x3e, all, (uint8_t)(length + 1));
}

static void connect_le(uint8_t status) {
  uint8_t all[18] = {status};
  put16(all + 1, status == 0 ? leHandle : 0);
  memcpy(all + 5, pad, 6);
  put16(all + 11, 24); /* 30 ms. */
  put16(all + 15, 72);
  isWanted = false;
  isConnected = status == 0;
  hasNotifications = false;
  meta(0x01, all, sizeof all);
}

void disconnect_le(uint8_t reason) {
  if (!isConnected) return;
  isConnected = false;
  event(0x05, (const uint8_t[]){0, leHandle, 0, reason}, 4);
  say("disconnected");
}

bool read_le_command(unsigned opcode, const uint8_t *parameters) {
  uint8_t all[16] = {0};
  switch (opcode) {
  case 0x2002: /* The buffers are those of BR/EDR. */
    complete(opcode, all, 3);
    return true;
  case 0x2003: /* Encryption. */
    all[0] = 1;
    complete(opcode, all, 8);
    return true;
  case 0x201c:
    memset(all, 0xff, 8);
    complete(opcode, all, 8);
    return true;
  case 0x200c:
    isScanning = parameters[0] == 1;
    complete(opcode, NULL, 0);
    return true;
  case 0x200d: /* Create Connection. */
    accept_command(opcode);
    isWanted = true;
    return true;
  case 0x200e:
    complete(opcode, NULL, 0);
    if (isWanted) connect_le(0x02); /* Unknown connection. */
    return true;
  case 0x2013: /* Connection Update. */
    accept_command(opcode);
    put16(all + 1, leHandle);
    memcpy(all + 3, parameters + 4, 6);
    meta(0x03, all, 9);
    return true;
  case 0x2016: /* Read Remote Features. */
    accept_command(opcode);
    put16(all + 1, leHandle);
    all[3] = 1;
    meta(0x04, all, 11);
    return true;
  case 0x2019: { /* Enable Encryption: handle, Rand, EDIV, key. */
    bool isShort = get16(parameters + 10) == 0;
    bool isRight = isShort ? memcmp(parameters + 12, shortKey, 16) == 0
                           : hasKey && memcmp(parameters + 12, longKey, 16) == 0 && memcmp(parameters + 10, identification, 2) == 0;
    accept_command(opcode);
    event(0x08, (const uint8_t[]){isRight ? 0 : 0x06, leHandle, 0, isRight}, 4);
    if (!isRight) say("refused");
    else if (isShort) give_key();
    return true;
  }
  }
  return false;
}

static void advertise(void) {
  uint8_t all[10 + 31] = {1}; /* One report; it can be connected and has a public address. */
  const uint8_t data[] = {2, 0x01, 0x05, 3, 0x19, 0xc4, 0x03, 3, 0x03, 0x12, 0x18, sizeof name, 0x09};
  memcpy(all + 3, pad, 6);
  all[9] = sizeof data + sizeof name - 1;
  memcpy(all + 10, data, sizeof data);
  memcpy(all + 10 + sizeof data, name, sizeof name - 1);
  all[10 + all[9]] = (uint8_t)-40;
  meta(0x02, all, (uint8_t)(11 + all[9]));
}

void tick_le(long time) {
  if (!isAwake || isConnected) return;
  if (isWanted) connect_le(0);
  else if (isScanning && time >= reportAt) {
    advertise();
    reportAt = time + 500;
  }
}

bool read_le_word(const char *word, int number) {
  if (strcmp(word, "le-pairing") == 0) {
    isAwake = true;
    hasKey = false;
  } else if (strcmp(word, "le-asleep") == 0) {
    isAwake = false;
    disconnect_le(0x13);
  } else if (strcmp(word, "le-wake") == 0) {
    isAwake = true;
    say("pressed");
  } else if (strcmp(word, "le-press") == 0 || strcmp(word, "le-release") == 0) {
    uint8_t all[3 + sizeof report] = {0x1b};
    uint16_t bit = (uint16_t)(1u << (number - 1)), before = (uint16_t)get16(report);
    put16(report, word[3] == 'p' ? before | bit : before & ~bit);
    put16(all + 1, reportHandle);
    memcpy(all + 3, report, sizeof report);
    if (hasNotifications) send_le(attChannel, all, sizeof all);
  } else {
    return false;
  }
  return true;
}
