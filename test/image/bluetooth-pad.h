/* The radio of bluetooth-pad.c, and the gamepad of bluetooth-channels.c. */
#include <stddef.h>
#include <stdint.h>

/* Prints this with the time. */
void say(const char *what);

/* Sends a frame of L2CAP to the deck. */
void send_data(unsigned channel, const uint8_t *bytes, size_t length);

/* A frame of the deck, from its length on. */
void read_frame(const uint8_t *bytes, size_t length);

/* Called at the beginning of a connection. */
void forget_channels(void);

/* Opens the channel of controls, and after it that of reports. */
void open_control(void);

/* Sends the buttons, the first one in the lowest bit. */
void send_report(uint16_t buttons);

static inline void put16(uint8_t *to, unsigned value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}
static inline unsigned get16(const uint8_t *from) { return from[0] | (unsigned)from[1] << 8; }
