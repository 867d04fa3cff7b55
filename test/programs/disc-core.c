/*
 * A libretro core with a disc drive and no game (libretro.h, API version 1). It takes a list of discs. It appends each
 * act of the drive to the file of the environment variable DISC_LOG: `disc PATH` for the disc in a closed drive, `open`
 * and `close`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PUBLIC __attribute__((visibility("default")))
enum { set_pixel_format = 10, set_disk_control = 13, xrgb8888 = 1, width = 160, height = 120, discs_max = 20, path_max = 4096 };

struct system_info {
  const char *name, *version, *extensions;
  bool needs_path, blocks_extract;
};
struct av_info {
  unsigned base_width, base_height, max_width, max_height;
  float aspect;
  double fps, sample_rate;
};
struct game_info {
  const char *path;
  const void *data;
  size_t size;
  const char *meta;
};
struct disk_control {
  bool (*set_eject_state)(bool);
  bool (*get_eject_state)(void);
  unsigned (*get_image_index)(void);
  bool (*set_image_index)(unsigned);
  unsigned (*get_num_images)(void);
  bool (*replace_image_index)(unsigned, const struct game_info *);
  bool (*add_image_index)(void);
};

typedef bool (*environment_call)(unsigned, void *);
typedef void (*video_call)(const void *, unsigned, unsigned, size_t);
static environment_call environment;
static video_call video;
static void (*poll_input)(void);
static uint32_t picture[width * height];
static char discs[discs_max][path_max];
static unsigned count, place;
static bool is_open;

static void note(const char *what, const char *path) {
  const char *to = getenv("DISC_LOG");
  FILE *log = to == NULL ? NULL : fopen(to, "a");
  if (log == NULL) return;
  fprintf(log, "%s%s\n", what, path);
  fclose(log);
}

static bool set_open(bool open) {
  if (open != is_open) note(open ? "open" : "close", "");
  is_open = open;
  if (!open && place < count) note("disc ", discs[place]);
  return true;
}
static bool get_open(void) { return is_open; }
static unsigned get_place(void) { return place; }
static bool set_place(unsigned wanted) {
  if (!is_open) return false;
  place = wanted;
  return true;
}
static unsigned get_count(void) { return count; }
static bool replace(unsigned index, const struct game_info *info) {
  (void)index;
  (void)info;
  return false;
}
static bool add(void) { return false; }

PUBLIC unsigned retro_api_version(void) { return 1; }
PUBLIC void retro_set_environment(environment_call call) { environment = call; }
PUBLIC void retro_set_video_refresh(video_call call) { video = call; }
PUBLIC void retro_set_audio_sample(void *call) { (void)call; }
PUBLIC void retro_set_audio_sample_batch(void *call) { (void)call; }
PUBLIC void retro_set_input_poll(void (*call)(void)) { poll_input = call; }
PUBLIC void retro_set_input_state(void *call) { (void)call; }
PUBLIC void retro_init(void) {}
PUBLIC void retro_deinit(void) {}
PUBLIC void retro_get_system_info(struct system_info *info) {
  *info = (struct system_info){"Discs", "1", "m3u|chd|cue", true, true};
}
PUBLIC void retro_get_system_av_info(struct av_info *info) {
  *info = (struct av_info){width, height, width, height, 4.0f / 3, 60, 44100};
}
PUBLIC void retro_set_controller_port_device(unsigned port, unsigned device) {
  (void)port;
  (void)device;
}
PUBLIC void retro_reset(void) {}
PUBLIC void retro_run(void) {
  poll_input();
  video(picture, width, height, width * sizeof *picture);
}
PUBLIC bool retro_load_game(const struct game_info *game) {
  static struct disk_control drive = {set_open, get_open, get_place, set_place, get_count, replace, add};
  unsigned format = xrgb8888;
  environment(set_pixel_format, &format);
  const char *dot = strrchr(game->path, '.');
  FILE *list = dot != NULL && strcasecmp(dot, ".m3u") == 0 ? fopen(game->path, "r") : NULL;
  if (list == NULL) {
    note("disc ", game->path);
    return true;
  }
  while (count < discs_max && fgets(discs[count], path_max, list) != NULL) {
    discs[count][strcspn(discs[count], "\r\n")] = 0;
    if (discs[count][0] != 0) count++;
  }
  fclose(list);
  note("list ", game->path);
  note("disc ", discs[0]);
  return environment(set_disk_control, &drive);
}
PUBLIC bool retro_load_game_special(unsigned type, const struct game_info *info, size_t number) {
  (void)type;
  (void)info;
  (void)number;
  return false;
}
PUBLIC void retro_unload_game(void) {}
PUBLIC unsigned retro_get_region(void) { return 0; }
PUBLIC size_t retro_serialize_size(void) { return 0; }
PUBLIC bool retro_serialize(void *data, size_t size) {
  (void)data;
  (void)size;
  return false;
}
PUBLIC bool retro_unserialize(const void *data, size_t size) {
  (void)data;
  (void)size;
  return false;
}
PUBLIC void retro_cheat_reset(void) {}
PUBLIC void retro_cheat_set(unsigned index, bool enabled, const char *code) {
  (void)index;
  (void)enabled;
  (void)code;
}
PUBLIC void *retro_get_memory_data(unsigned id) {
  (void)id;
  return NULL;
}
PUBLIC size_t retro_get_memory_size(unsigned id) {
  (void)id;
  return 0;
}
