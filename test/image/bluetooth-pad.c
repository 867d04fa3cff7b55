/*
 * A Bluetooth radio, and a gamepad or headphones in its reach, inside the guest. The radio speaks HCI on a serial line, as those of the
 * boards do: the line is a terminal whose other end has the kernel's line discipline for such radios
 * (drivers/bluetooth/hci_ldisc.c). The gamepad is a device of the Human Interface Device Profile with Secure Simple
 * Pairing. The program is linked statically, for emulated boards.
 *
 *   bluetooth-pad [le] [COMMAND...] <COMMANDS     a line each; with `le` the radio also has LE, and the gamepad of bluetooth-le.c
 *                                                 in its reach:
 *     pairing    it can be found and paired; `refuse` can be found, and refuses; `keyboard` wants a code to be typed
 *     typed      that code was typed
 *     asleep     it neither answers nor can be found; a connection ends
 *     wake       a button is pressed: it calls the deck by its key
 *     bonded     it has the key of an earlier pairing; `lost` has none
 *     press N    the button N, from 1 on, is pressed; `release N`
 *     mute       the radio itself answers nothing, until `speak`
 *     le-pairing, le-asleep, le-wake, le-press N, le-release N     the same of the gamepad of LE
 *     headphones the device is headphones instead of the gamepad from now on, with another address, and can be found and paired.
 *                The words above that have no number are of them; `pairing` brings the gamepad back
 *     stranger   another device, without a key, calls the deck and opens the channels of a keyboard, or of headphones
 *
 * It prints its events: `pressed`, `paired`, `connected`, `disconnected`, `refused`, `no answer`, and `called` by the
 * stranger. Of headphones, `started` and `suspended`; /run/headphones has the sound that they received.
 *
 * Numbers: Bluetooth Core Specification 5.4, Vol 4 Part E (HCI), Vol 3 Part A (L2CAP) and Part B (SDP); Human Interface Device
 * Profile 1.1.1; Assigned Numbers. All are little-endian, except those of SDP.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "bluetooth-pad.h"

enum { commandPacket = 1, dataPacket = 2, eventPacket = 4 }; /* Vol 4 Part A, 2. */
enum { lineDiscipline = 15, setProtocol = 0x400455c8 }; /* N_HCI and HCIUARTSETPROTO. */

static const uint8_t deck[6] = {0x01, 0x71, 0xda, 0x7d, 0x1a, 0x00}, gamepad[6] = {0x02, 0x00, 0x00, 0xdc, 0x1b, 0x00},
                     other[6] = {0x03, 0x00, 0x00, 0xdc, 0x1b, 0x00}, headphones[6] = {0x05, 0x00, 0x00, 0xdc, 0x1b, 0x00};
static const uint8_t gamepadClass[3] = {0x08, 0x25, 0x00}, keyboardClass[3] = {0x40, 0x25, 0x00},
                     headphonesClass[3] = {0x04, 0x04, 0x24};
/* The device in reach. */
static const uint8_t *pad = gamepad;
static const char *name = "Test \"Pad\"";
bool isSound;

static int line;
static bool isSeen, isAwake, isRefusing, isKeyboard, hasKey, isConnected, isScanning, isIncoming, isMute, hasLe;
static const uint8_t *caller = gamepad;
static uint16_t buttons;
static long inquiryEnd, resultAt, pageEnd; /* Milliseconds; 0 is never. */

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void say(const char *what) {
  printf("%ld %s\n", now(), what);
  fflush(stdout);
}

static void give(const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(line, bytes, length);
    if (written < 0) err(1, "the line");
    bytes += written;
    length -= (size_t)written;
  }
}

void event(uint8_t code, const void *parameters, uint8_t length) {
  uint8_t packet[258] = {eventPacket, code, length};
  memcpy(packet + 3, parameters, length);
  give(packet, length + 3u);
}

/* Command Complete, with a status of 0 and `length` bytes after it. */
void complete(unsigned opcode, const void *result, uint8_t length) {
  uint8_t all[255] = {1};
  put16(all + 1, opcode);
  if (length > 0) memcpy(all + 4, result, length);
  event(0x0e, all, (uint8_t)(4 + length));
}

void accept_command(unsigned opcode) {
  uint8_t all[4] = {0, 1};
  put16(all + 2, opcode);
  event(0x0f, all, 4);
}

/* An event that begins with the address of the pad, and one of its connection, after a status. */
static void of_pad(uint8_t code, const void *rest, uint8_t length) {
  uint8_t all[64];
  memcpy(all, caller, 6);
  if (length > 0) memcpy(all + 6, rest, length);
  event(code, all, (uint8_t)(6 + length));
}
static void of_link(uint8_t code, uint8_t status, const void *rest, uint8_t length) {
  uint8_t all[64] = {status};
  put16(all + 1, handle);
  if (length > 0) memcpy(all + 3, rest, length);
  event(code, all, (uint8_t)(3 + length));
}

static void key_of(uint8_t *key) { memset(key, 0x5a, 16); }

static void connect_link(uint8_t status) {
  uint8_t all[11] = {status};
  put16(all + 1, status == 0 ? handle : 0);
  memcpy(all + 3, caller, 6);
  all[9] = 1; /* ACL. */
  event(0x03, all, sizeof all);
  isConnected = status == 0;
  forget_channels();
}

static void disconnect(uint8_t reason) {
  if (!isConnected) return;
  of_link(0x05, 0, &reason, 1);
  isConnected = isIncoming = false;
  say("disconnected");
}

/* Authentication Complete. A pairing that failed has reported this before. */
static void authenticated(uint8_t status) { of_link(0x06, status, NULL, 0); }

static void paired(bool isGood) {
  uint8_t all[23] = {isGood ? 0 : 0x05}; /* Authentication failure. */
  memcpy(all + 1, pad, 6);
  event(0x36, all, 7);
  if (isGood) {
    key_of(all);
    all[16] = isKeyboard ? 5 : 4; /* Combination key of P-192. */
    of_pad(0x18, all, 17);
    hasKey = true;
  }
  authenticated(isGood ? 0 : 0x05);
  say(isGood ? "paired" : "refused");
}

static void send_frame(unsigned link, unsigned channel, const uint8_t *bytes, size_t length) {
  uint8_t packet[1100] = {dataPacket};
  put16(packet + 1, link | 0x2000); /* The first packet of a frame. */
  put16(packet + 3, (unsigned)length + 4);
  put16(packet + 5, (unsigned)length);
  put16(packet + 7, channel);
  memcpy(packet + 9, bytes, length);
  give(packet, length + 9);
}
void send_data(unsigned channel, const uint8_t *bytes, size_t length) { send_frame(handle, channel, bytes, length); }
void send_le(unsigned channel, const uint8_t *bytes, size_t length) { send_frame(leHandle, channel, bytes, length); }

static void read_data(const uint8_t *bytes, size_t length) {
  unsigned link = get16(bytes) & 0xfff;
  uint8_t done[5] = {1};
  put16(done + 1, link);
  put16(done + 3, 1);
  event(0x13, done, sizeof done); /* Number of Completed Packets. */
  if (length <= 4) return;
  if (link == leHandle) read_le_frame(bytes + 4, length - 4);
  else read_frame(bytes + 4, length - 4);
}

/* ---- Commands of the deck ---- */

static const uint8_t *class_of_pad(void) { return isSound ? headphonesClass : isKeyboard ? keyboardClass : gamepadClass; }

static void show_pad(void) {
  uint8_t all[255] = {1};
  memcpy(all + 1, pad, 6);
  all[7] = 1;
  memcpy(all + 9, class_of_pad(), 3);
  all[14] = (uint8_t)-40;
  all[15] = (uint8_t)(strlen(name) + 1); /* A complete local name: its length with the type. */
  all[16] = 0x09;
  memcpy(all + 17, name, strlen(name));
  event(0x2f, all, 255);
}

static void read_local(unsigned opcode, const uint8_t *parameters) {
  uint8_t all[250] = {0};
  switch (opcode) {
  case 0x1001: /* Version 2.1. */
    all[0] = all[3] = 4;
    complete(opcode, all, 8);
    break;
  case 0x1002:
    complete(opcode, all, 64);
    break;
  case 0x1003: /* Encryption; RSSI with results; names with results and simple pairing. */
    memcpy(all, (const uint8_t[]){0x04, 0, 0, 0x40, hasLe ? 0x40 : 0, 0, 0x09, 0}, 8);
    complete(opcode, all, 8);
    break;
  case 0x1005: /* 16 packets of 1021 bytes. */
    put16(all, 1021);
    put16(all + 3, 16);
    complete(opcode, all, 7);
    break;
  case 0x1009:
    complete(opcode, deck, 6);
    break;
  case 0x0c03: /* Reset. */
    inquiryEnd = pageEnd = 0;
    isScanning = false;
    complete(opcode, NULL, 0);
    break;
  case 0x0c14:
    complete(opcode, all, 248);
    break;
  case 0x0c23: /* Class. */
  case 0x0c39: /* One inquiry access code. */
    all[0] = opcode == 0x0c39;
    complete(opcode, all, opcode == 0x0c39 ? 4 : 3);
    break;
  case 0x0c25:
    complete(opcode, all, 2);
    break;
  case 0x0c38:
    all[0] = 1;
    complete(opcode, all, 1);
    break;
  case 0x0c1b: /* Page scan: interval and window. */
    put16(all, 0x800);
    put16(all + 2, 0x12);
    complete(opcode, all, 4);
    break;
  case 0x0c1a:
    isScanning = (parameters[0] & 2) != 0;
    if (parameters[0] & 1) say("visible"); /* Otherwise other devices could find the deck. */
    complete(opcode, NULL, 0);
    break;
  case 0x0405 ... 0x0407:
    break;
  default:
    complete(opcode, all, 0);
  }
}

/* The pad has proved its key, and encrypts the connection that it began before it opens a channel. */
static void encrypt_and_open(void) {
  isIncoming = false;
  of_link(0x08, 0, (const uint8_t[]){1}, 1);
  open_control();
}

static void refuse(void) {
  say("refused");
  disconnect(0x05); /* Authentication failure. */
}

/* Pairing, and proofs of a key. */
static bool read_security(unsigned opcode, const uint8_t *parameters) {
  uint8_t key[16], all[16] = {0};
  switch (opcode) {
  case 0x0411: /* Authentication Requested. */
    accept_command(opcode);
    of_pad(0x17, NULL, 0);
    return true;
  case 0x040b: /* Link Key Request Reply. */
    complete(opcode, caller, 6);
    key_of(key);
    bool isSame = hasKey && caller == pad && memcmp(key, parameters + 6, 16) == 0;
    if (!isIncoming) authenticated(isSame ? 0 : 0x06); /* PIN or key missing. */
    else if (isSame) encrypt_and_open();
    else refuse();
    return true;
  case 0x040c: /* Link Key Request Negative Reply. */
    complete(opcode, caller, 6);
    if (isIncoming) refuse(); /* The deck has forgotten the pad. */
    else of_pad(0x31, NULL, 0);
    return true;
  case 0x042b: /* IO Capability Request Reply: the pad has neither display nor keys. */
    complete(opcode, caller, 6);
    all[0] = isKeyboard ? 2 : 3;
    all[2] = isKeyboard ? 1 : 0;
    of_pad(0x32, all, 3);
    if (caller != pad || !isSeen || isRefusing) paired(false);
    else if (isKeyboard) of_pad(0x3b, (const uint8_t[]){0x40, 0xe2, 0x01, 0}, 4); /* 123456. */
    else of_pad(0x33, (const uint8_t[]){0x40, 0xe2, 0x01, 0}, 4);
    return true;
  case 0x042c: /* User Confirmation Request Reply, and the negative ones. */
  case 0x042d:
  case 0x0434:
    complete(opcode, caller, 6);
    paired(opcode == 0x042c);
    return true;
  case 0x0413: /* Set Connection Encryption. */
    accept_command(opcode);
    all[0] = 1;
    of_link(0x08, 0, all, 1);
    return true;
  }
  return false;
}

static void read_command(const uint8_t *packet) {
  unsigned opcode = get16(packet + 1);
  const uint8_t *parameters = packet + 4;
  uint8_t all[260] = {0};
  if (hasLe && read_le_command(opcode, parameters)) return;
  if (read_security(opcode, parameters)) return;
  switch (opcode) {
  case 0x0401: /* Inquiry, in units of 1.28 s. */
    accept_command(opcode);
    inquiryEnd = now() + parameters[3] * 1280;
    resultAt = now();
    break;
  case 0x0402:
    inquiryEnd = 0;
    complete(opcode, NULL, 0);
    break;
  case 0x0405: /* Create Connection. */
    accept_command(opcode);
    caller = pad;
    isIncoming = false;
    if (isAwake && memcmp(parameters, pad, 6) == 0) connect_link(0);
    else pageEnd = now() + 1000; /* The deck itself would wait for 5.12 s. */
    break;
  case 0x0406: /* Disconnect. */
    accept_command(opcode);
    if (get16(parameters) == leHandle) disconnect_le(0x16);
    else disconnect(0x16);
    break;
  case 0x0408:
    complete(opcode, caller, 6);
    break;
  case 0x0409: /* Accept Connection Request. */
    accept_command(opcode);
    connect_link(0);
    break;
  case 0x040a: /* Reject Connection Request. */
    accept_command(opcode);
    connect_link(parameters[6]);
    isIncoming = false;
    say("refused");
    break;
  case 0x0419: /* Remote Name Request. */
    accept_command(opcode);
    all[0] = isAwake ? 0 : 0x04;
    memcpy(all + 1, parameters, 6);
    strcpy((char *)all + 7, name);
    event(0x07, all, 255);
    break;
  case 0x041b: /* Read Remote Supported Features. */
    accept_command(opcode);
    of_link(0x0b, 0, (const uint8_t[]){0x04, 0, 0, 0x40, 0, 0, 0x09, 0}, 8);
    if (isIncoming && caller == pad && hasKey) of_pad(0x17, NULL, 0); /* The pad asks the deck to prove the key. */
    else if (isIncoming) open_control();
    break;
  case 0x041d: /* Read Remote Version. */
    accept_command(opcode);
    memcpy(all + 1, parameters, 2);
    all[3] = 4;
    event(0x0c, all, 8);
    break;
  default:
    read_local(opcode, parameters);
  }
}

/* ---- Commands of the test ---- */

static void call_deck(const uint8_t *from) {
  uint8_t rest[4];
  if (!isScanning) {
    say("no answer");
    return;
  }
  caller = from;
  isIncoming = true;
  memcpy(rest, from == pad ? class_of_pad() : keyboardClass, 3);
  rest[3] = 1; /* ACL. */
  of_pad(0x04, rest, 4); /* Connection Request. */
}

static void read_word(const char *word, int number) {
  if (read_le_word(word, number)) return;
  if (strcmp(word, "pairing") == 0 || strcmp(word, "refuse") == 0 || strcmp(word, "keyboard") == 0 || strcmp(word, "headphones") == 0) {
    isSeen = isAwake = true;
    isRefusing = *word == 'r';
    isKeyboard = *word == 'k';
    isSound = *word == 'h';
    pad = isSound ? headphones : gamepad;
    name = isSound ? "Test Sound" : "Test \"Pad\"";
    hasKey = false;
  } else if (strcmp(word, "asleep") == 0) {
    isSeen = isAwake = false;
    disconnect(0x13); /* The other end closes it. */
  } else if (strcmp(word, "wake") == 0) {
    isAwake = true;
    isSeen = false;
    say("pressed");
    call_deck(pad);
  } else if (strcmp(word, "bonded") == 0 || strcmp(word, "lost") == 0) {
    hasKey = *word == 'b';
  } else if (strcmp(word, "typed") == 0) {
    paired(true);
  } else if (strcmp(word, "mute") == 0 || strcmp(word, "speak") == 0) {
    isMute = *word == 'm';
  } else if (strcmp(word, "stranger") == 0) {
    say("called");
    call_deck(other);
  } else if (strcmp(word, "press") == 0 || strcmp(word, "release") == 0) {
    uint16_t bit = (uint16_t)(1u << (number - 1));
    buttons = *word == 'p' ? buttons | bit : buttons & (uint16_t)~bit;
    send_report(buttons);
  }
}

/* The length of the first packet in the bytes; 0 if it is not whole yet, and 1 for a byte that begins none. */
static size_t packet_in(const uint8_t *bytes, size_t length) {
  if (length >= 1 && bytes[0] != commandPacket && bytes[0] != dataPacket) return 1;
  if (length >= 4 && bytes[0] == commandPacket) return 4u + bytes[3];
  if (length >= 5 && bytes[0] == dataPacket) return 5u + get16(bytes + 3);
  return 0;
}

static void tick(void) {
  tick_le(now());
  if (inquiryEnd != 0 && isSeen && now() >= resultAt) {
    show_pad();
    resultAt = now() + 1000;
  }
  if (inquiryEnd != 0 && now() >= inquiryEnd) {
    inquiryEnd = 0;
    event(0x01, (const uint8_t[]){0}, 1);
  }
  if (pageEnd != 0 && now() >= pageEnd) {
    pageEnd = 0;
    connect_link(0x04); /* Page time-out. */
  }
}

/*
 * Waits until the kernel has begun all work that was queued before. A read of the line wakes its other end, where the line discipline
 * then queues the work that sends. Linux 6.1.192 cancels that work when the radio is switched off, and if the work had not begun, the
 * line discipline takes it for queued and never sends again (hci_uart_close; upstream has mended it by "Bluetooth: hci_uart: clear
 * HCI_UART_SENDING when write_work is canceled"). The radio is switched off after an answer to Reset, so no answer precedes that work.
 * The kernel fills this file by such work on each processor, which begins the work of a processor in turn.
 */
static void await_kernel_work(void) {
  char none;
  int file = open("/proc/sys/vm/stat_refresh", O_RDONLY);
  if (file < 0 || read(file, &none, 1) < 0) err(1, "stat_refresh");
  close(file);
}

int main(int given, char **arguments) {
  for (int each = 1; each < given; each++) {
    if (strcmp(arguments[each], "le") == 0) hasLe = true;
    else read_word(arguments[each], 0);
  }
  static uint8_t bytes[8192];
  size_t length = 0;
  int discipline = lineDiscipline, slave;
  struct termios raw;
  char words[4096];
  line = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  if (line < 0 || unlockpt(line) != 0 || (slave = open(ptsname(line), O_RDWR | O_NOCTTY)) < 0) err(1, "a terminal");
  tcgetattr(slave, &raw);
  cfmakeraw(&raw);
  tcsetattr(slave, TCSANOW, &raw);
  if (ioctl(slave, TIOCSETD, &discipline) != 0 || ioctl(slave, setProtocol, 0) != 0) err(1, "the line discipline");
  struct pollfd ends[2] = {{.fd = line, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
  for (;;) {
    if (poll(ends, 2, 20) < 0) err(1, "poll");
    if (ends[0].revents & POLLIN) {
      ssize_t count = read(line, bytes + length, sizeof bytes - length);
      if (count < 0) err(1, "the line");
      await_kernel_work();
      length += (size_t)count;
      for (size_t size; (size = packet_in(bytes, length)) > 0 && size <= length;) {
        if (size == 1) say("noise");
        else if (bytes[0] == commandPacket && !isMute) read_command(bytes);
        else if (!isMute) read_data(bytes + 1, size - 1);
        memmove(bytes, bytes + size, length -= size);
      }
    }
    if (ends[1].revents & POLLIN) {
      ssize_t count = read(0, words, sizeof words - 1);
      words[count < 0 ? 0 : count] = 0;
      for (char *one = strtok(words, "\n"); one != NULL; one = strtok(NULL, "\n")) {
        char word[16] = "";
        int number = 0;
        if (sscanf(one, "%15s %d", word, &number) > 0) read_word(word, number);
      }
    }
    tick();
  }
}
