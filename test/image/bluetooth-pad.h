/* The radio of bluetooth-pad.c, the gamepad of bluetooth-channels.c, the headphones of bluetooth-sound.c, and the gamepad of bluetooth-le.c. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints this with the time. */
void say(const char *what);

/* An event to the deck; Command Complete, with a status of 0 and `length` bytes after it; and Command Status. */
void event(uint8_t code, const void *parameters, uint8_t length);
void complete(unsigned opcode, const void *result, uint8_t length);
void accept_command(unsigned opcode);

enum { handle = 0x0b, leHandle = 0x0c }; /* Connections. */

/* Sends a frame of L2CAP to the deck, over BR/EDR and over LE. */
void send_data(unsigned channel, const uint8_t *bytes, size_t length);
void send_le(unsigned channel, const uint8_t *bytes, size_t length);

/* A frame of the deck, from its length on. */
void read_frame(const uint8_t *bytes, size_t length);

/* Called at the beginning of a connection. */
void forget_channels(void);

/* True if the device in reach is headphones. */
extern bool isSound;

/* Opens the channel of controls, and after it that of reports; or the channel of signals of headphones. */
void open_control(void);

/* Sends the buttons, the first one in the lowest bit. */
void send_report(uint16_t buttons);

/* bluetooth-sound.c: the description of headphones; a signal, whose answer goes to `channel`; and a packet of sound. */
extern const uint8_t soundRecord[];
extern const size_t soundRecordSize;
void read_avdtp(unsigned channel, const uint8_t *bytes, size_t length);
void read_media(const uint8_t *bytes, size_t length);

/* bluetooth-le.c: a command and a frame of the deck, the time in milliseconds, and a word of the test. */
bool read_le_command(unsigned opcode, const uint8_t *parameters);
void read_le_frame(const uint8_t *bytes, size_t length);
void disconnect_le(uint8_t reason);
void tick_le(long time);
bool read_le_word(const char *word, int number);

static inline void put16(uint8_t *to, unsigned value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}
static inline unsigned get16(const uint8_t *from) { return from[0] | (unsigned)from[1] << 8; }
