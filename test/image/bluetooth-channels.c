/*
 * The gamepad of bluetooth-pad.c above HCI, and below their sound also its headphones: channels (Core Specification, Vol 3 Part A, L2CAP), descriptions of
 * the devices (Part B, SDP), and the reports of the gamepad (Human Interface Device Profile 1.1.1).
 */
#include <stdbool.h>
#include <string.h>

#include "bluetooth-pad.h"

enum { signalling = 1, sdpPsm = 1, controlPsm = 0x11, interruptPsm = 0x13, avdtpPsm = 0x19 };

/* 16 buttons, four axes and a hat: HID 1.11, 6.2.2, and HID Usage Tables 1.4. */
static const uint8_t reports[] = {
    0x05, 0x01, 0x09, 0x05, 0xa1, 0x01, 0x05, 0x09, 0x19, 0x01, 0x29, 0x10, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x10, 0x81, 0x02,
    0x05, 0x01, 0x09, 0x30, 0x09, 0x31, 0x09, 0x32, 0x09, 0x35, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x04, 0x81, 0x02,
    0x09, 0x39, 0x15, 0x00, 0x25, 0x07, 0x75, 0x04, 0x95, 0x01, 0x81, 0x42, 0x75, 0x04, 0x95, 0x01, 0x81, 0x01, 0xc0};

/* A channel of L2CAP. The pad's own id of a channel is its place in this list plus 0x40. */
static struct {
  uint16_t psm, peer;
  bool isOurs, isOpen, isAsked, isAnswered;
  bool isMedia; /* AVDTP has its signals on its first channel, and the sound on its second one (AVDTP 1.3, 5.4). */
} channels[8];

static void signal_l2cap(uint8_t code, uint8_t id, const void *rest, size_t length) {
  uint8_t all[64] = {code, id};
  put16(all + 2, (unsigned)length);
  memcpy(all + 4, rest, length);
  send_data(signalling, all, length + 4);
}

static void open_channel(uint16_t psm) {
  for (unsigned place = 0; place < 8; place++) {
    if (channels[place].psm != 0) continue;
    channels[place].psm = psm;
    channels[place].isOurs = true;
    uint8_t request[4];
    put16(request, psm);
    put16(request + 2, 0x40 + place);
    signal_l2cap(0x02, (uint8_t)(0x40 + place), request, 4);
    return;
  }
}

static int channel_of(uint16_t psm) {
  for (int place = 0; place < 8; place++)
    if (channels[place].psm == psm && channels[place].isOpen) return place;
  return -1;
}

static void configure(unsigned place) {
  uint8_t request[4] = {0};
  if (channels[place].isAsked) return;
  channels[place].isAsked = true;
  put16(request, channels[place].peer);
  signal_l2cap(0x04, (uint8_t)(0x50 + place), request, 4);
}


static void opened(unsigned place) {
  if (!channels[place].isAsked || !channels[place].isAnswered || channels[place].isOpen) return;
  channels[place].isOpen = true;
  if (channels[place].psm == controlPsm && channels[place].isOurs) open_channel(interruptPsm);
  if (channels[place].psm == interruptPsm || channels[place].isMedia) say("connected");
}

static void read_signal(const uint8_t *bytes, size_t length) {
  if (length < 6) return;
  const uint8_t *data = bytes + 4;
  uint8_t id = bytes[1], answer[12] = {0};
  unsigned first = get16(data), second = get16(data + 2), place = first - 0x40;
  switch (bytes[0]) {
  case 0x02: /* Connection request: the service and the channel of the deck. */
    for (place = 0; place < 8 && channels[place].psm != 0;) place++;
    if (place == 8) return;
    channels[place].isMedia = first == avdtpPsm && channel_of(avdtpPsm) >= 0;
    channels[place].psm = (uint16_t)first;
    channels[place].peer = (uint16_t)second;
    put16(answer, 0x40 + place);
    put16(answer + 2, second);
    signal_l2cap(0x03, id, answer, 8);
    configure(place);
    break;
  case 0x03: /* Connection response: the channel of the deck, that of the pad, the result. */
    place = second - 0x40;
    if (place > 7 || length < 12) return;
    channels[place].peer = (uint16_t)first;
    if (get16(data + 4) == 0) configure(place);
    else if (get16(data + 4) > 1) say("refused");
    break;
  case 0x04: /* Configuration request for the pad's channel. */
    if (place > 7) return;
    put16(answer, channels[place].peer);
    signal_l2cap(0x05, id, answer, 6);
    channels[place].isAnswered = true;
    opened(place);
    break;
  case 0x05:
    if (place < 8) opened(place);
    break;
  case 0x06: /* Disconnection request: the pad's channel, that of the deck. */
    signal_l2cap(0x07, id, data, 4);
    if (place < 8) memset(channels + place, 0, sizeof *channels);
    break;
  case 0x0a: { /* Information request: extended features are none, fixed channels are not supported. */
    put16(answer, first);
    put16(answer + 2, first == 2 ? 0 : 1);
    signal_l2cap(0x0b, id, answer, first == 2 ? 8 : 4);
    break;
  }
  }
}

/* ---- SDP: data elements are a type and size, and big-endian values (Vol 3 Part B, 3). ---- */

static const uint8_t hidRecord[] = {
    0x09, 0x00, 0x00, 0x0a, 0x00, 0x01, 0x00, 0x01, 0x09, 0x00, 0x01, 0x35, 0x03, 0x19, 0x11, 0x24,                   /* Class. */
    0x09, 0x00, 0x04, 0x35, 0x0d, 0x35, 0x06, 0x19, 0x01, 0x00, 0x09, 0x00, 0x11, 0x35, 0x03, 0x19, 0x00, 0x11,       /* Control. */
    0x09, 0x00, 0x05, 0x35, 0x03, 0x19, 0x10, 0x02, 0x09, 0x00, 0x09, 0x35, 0x08, 0x35, 0x06, 0x19, 0x11, 0x24, 0x09, 0x01, 0x00,
    0x09, 0x00, 0x0d, 0x35, 0x0f, 0x35, 0x0d, 0x35, 0x06, 0x19, 0x01, 0x00, 0x09, 0x00, 0x13, 0x35, 0x03, 0x19, 0x00, 0x11, /* Interrupt. */
    0x09, 0x02, 0x01, 0x09, 0x01, 0x11, 0x09, 0x02, 0x02, 0x08, 0x08, 0x09, 0x02, 0x03, 0x08, 0x00, 0x09, 0x02, 0x04, 0x28, 0x01,
    0x09, 0x02, 0x05, 0x28, 0x01, /* The pad reconnects without a request of the deck. */
    0x09, 0x02, 0x06, 0x35, 6 + sizeof reports, 0x35, 4 + sizeof reports, 0x08, 0x22, 0x25, sizeof reports};
static const uint8_t bootRecord[] = {0x09, 0x02, 0x0e, 0x28, 0x00};
/* Maker's ids from the range that pid.codes gives for tests. */
static const uint8_t idRecord[] = {
    0x09, 0x00, 0x00, 0x0a, 0x00, 0x01, 0x00, 0x02, 0x09, 0x00, 0x01, 0x35, 0x03, 0x19, 0x12, 0x00, 0x09, 0x02, 0x00, 0x09, 0x01, 0x03,
    0x09, 0x02, 0x01, 0x09, 0x12, 0x09, 0x09, 0x02, 0x02, 0x09, 0x00, 0x01, 0x09, 0x02, 0x03, 0x09, 0x01, 0x00, 0x09, 0x02, 0x04, 0x28,
    0x01, 0x09, 0x02, 0x05, 0x09, 0x00, 0x02};

/* Answers a ServiceSearchAttributeRequest (6) for one class of services. */
static void read_sdp(unsigned place, const uint8_t *bytes, size_t length) {
  uint8_t all[700] = {0x07, bytes[1], bytes[2]}, *list = all + 7;
  if (length < 10 || bytes[0] != 0x06) return;
  unsigned class = (unsigned)bytes[8] << 8 | bytes[9]; /* After the sequence: 35 03 19. */
  size_t size = 0;
  if (class == 0x1200) {
    memcpy(list + 6, idRecord, size = sizeof idRecord);
  } else if (isSound) {
    if (class == 0x0100 || class == 0x1002 || class == 0x110b) memcpy(list + 6, soundRecord, size = soundRecordSize);
  } else if (class == 0x0100 || class == 0x1002 || class == 0x1124) {
    memcpy(list + 6, hidRecord, sizeof hidRecord);
    memcpy(list + 6 + sizeof hidRecord, reports, sizeof reports);
    memcpy(list + 6 + sizeof hidRecord + sizeof reports, bootRecord, sizeof bootRecord);
    size = sizeof hidRecord + sizeof reports + sizeof bootRecord;
  }
  size_t inner = size == 0 ? 0 : size + 3, bytesOfLists = inner + 3;
  list[0] = list[3] = 0x36; /* A sequence with a size of two bytes, in a sequence. */
  list[1] = (uint8_t)(inner >> 8), list[2] = (uint8_t)inner;
  list[4] = (uint8_t)(size >> 8), list[5] = (uint8_t)size;
  all[5] = (uint8_t)(bytesOfLists >> 8), all[6] = (uint8_t)bytesOfLists;
  list[bytesOfLists] = 0; /* No more. */
  all[3] = (uint8_t)((bytesOfLists + 3) >> 8), all[4] = (uint8_t)(bytesOfLists + 3);
  send_data(channels[place].peer, all, 7 + bytesOfLists + 1);
}

void read_frame(const uint8_t *bytes, size_t length) {
  if (length < 4) return;
  unsigned channel = get16(bytes + 2), place = channel - 0x40;
  if (channel == signalling) read_signal(bytes + 4, length - 4);
  else if (place < 8 && channels[place].psm == sdpPsm) read_sdp(place, bytes + 4, length - 4);
  else if (place < 8 && channels[place].isMedia) read_media(bytes + 4, length - 4);
  else if (place < 8 && channels[place].psm == avdtpPsm) read_avdtp(channels[place].peer, bytes + 4, length - 4);
  else if (place < 8 && channels[place].psm == controlPsm && length > 4 && bytes[4] >> 4 != 1)
    send_data(channels[place].peer, (const uint8_t[]){0}, 1); /* HANDSHAKE, successful. */
}

void forget_channels(void) { memset(channels, 0, sizeof channels); }

void open_control(void) { open_channel(isSound ? avdtpPsm : controlPsm); }

void send_report(uint16_t buttons) {
  int place = channel_of(interruptPsm);
  uint8_t report[8] = {0xa1, (uint8_t)buttons, (uint8_t)(buttons >> 8), 0x80, 0x80, 0x80, 0x80, 0x0f};
  if (place >= 0) send_data(channels[place].peer, report, sizeof report);
}

