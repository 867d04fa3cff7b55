/*
 * The headphones of bluetooth-pad.c: their description (Advanced Audio Distribution Profile 1.3, 5.3), and the side of the Audio/Video
 * Distribution Transport Protocol 1.3 that accepts. They take SBC, and write what they receive to /run/headphones, without the headers
 * of the packets: the frames of silence are all the same, so gzip leaves nearly nothing of them.
 */
#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bluetooth-pad.h"

/* AVDTP 1.3, 8.5. */
enum { discover = 1, capabilities, setConfiguration, configuration, reconfigure, open_, start, close_, suspend, abort_, allCapabilities = 12 };
enum { accepted = 2, rejected = 3 };
enum { endpoint = 1, rtpHeader = 12 };

const uint8_t soundRecord[] = {
    0x09, 0x00, 0x00, 0x0a, 0x00, 0x01, 0x00, 0x01, 0x09, 0x00, 0x01, 0x35, 0x03, 0x19, 0x11, 0x0b, /* Class: audio sink. */
    0x09, 0x00, 0x04, 0x35, 0x10, 0x35, 0x06, 0x19, 0x01, 0x00, 0x09, 0x00, 0x19, 0x35, 0x06, 0x19, 0x00, 0x19, 0x09, 0x01, 0x03,
    0x09, 0x00, 0x09, 0x35, 0x08, 0x35, 0x06, 0x19, 0x11, 0x0d, 0x09, 0x01, 0x03, /* Profile, 1.3. */
    0x09, 0x03, 0x11, 0x09, 0x00, 0x01}; /* Headphones. */
const size_t soundRecordSize = sizeof soundRecord;

/* Transport of media, and SBC in each of its forms, with a bit pool of 2 to 53 (A2DP 1.3, 4.3.2). */
static const uint8_t sbc[] = {0x01, 0x00, 0x07, 0x06, 0x00, 0x00, 0xff, 0xff, 0x02, 0x35};
static uint8_t chosen[32];
static size_t chosenSize;

static void answer(unsigned channel, const uint8_t *signal, uint8_t kind, const void *rest, size_t length) {
  uint8_t all[64] = {(uint8_t)((signal[0] & 0xf0) | kind), signal[1]};
  if (length > 0) memcpy(all + 2, rest, length);
  send_data(channel, all, length + 2);
}

void read_avdtp(unsigned channel, const uint8_t *bytes, size_t length) {
  if (length < 2 || (bytes[0] & 0x0f) != 0) return; /* A single packet with a command. */
  switch (bytes[1]) {
  case discover: /* A sink for audio, not in use. */
    answer(channel, bytes, accepted, (const uint8_t[]){endpoint << 2, 1 << 3}, 2);
    break;
  case capabilities:
  case allCapabilities:
    answer(channel, bytes, accepted, sbc, sizeof sbc);
    break;
  case setConfiguration: /* The two endpoints, and after them what the deck has chosen. */
    if (length < 4 || length - 4 > sizeof chosen) return;
    memcpy(chosen, bytes + 4, chosenSize = length - 4);
    answer(channel, bytes, accepted, NULL, 0);
    break;
  case configuration:
    answer(channel, bytes, accepted, chosen, chosenSize);
    break;
  case start:
    say("started");
    answer(channel, bytes, accepted, NULL, 0);
    break;
  case suspend:
    say("suspended");
    answer(channel, bytes, accepted, NULL, 0);
    break;
  case open_:
  case reconfigure:
  case close_:
  case abort_:
    answer(channel, bytes, accepted, NULL, 0);
    break;
  default: /* Not supported. */
    answer(channel, bytes, rejected, (const uint8_t[]){0x19}, 1);
  }
}

void read_media(const uint8_t *bytes, size_t length) {
  static int file = -1;
  if (file < 0 && (file = open("/run/headphones", O_WRONLY | O_CREAT | O_APPEND, 0644)) < 0) err(1, "/run/headphones");
  if (length <= rtpHeader + 1) return; /* One byte more has the number of frames. */
  if (write(file, bytes + rtpHeader + 1, length - rtpHeader - 1) < 0) err(1, "/run/headphones");
}
