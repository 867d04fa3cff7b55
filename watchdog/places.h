/*
 * The places that the options of tapdeck-confine name, and the reach of a program into them. The nearest option decides:
 * a hidden folder may hold an open folder, and an open folder may hold a hidden one. If two options name one path, the
 * first of this table decides.
 *
 *   --hide=PATH   nothing of it can be read or changed
 *   --own=FOLDER  its files are hidden, unless their names begin with a dot and do not end in .new; its folders are open
 *   --home=FOLDER all in it is hidden, unless its name begins with a dot and does not end in .new
 *   --keep=PATH   it can be read, and not changed
 *   --open=PATH   it can be read and changed
 */
#include <stdbool.h>
#include <string.h>

/* The service names fewer (`placesMax` in src/system/confine.ts). */
enum { places_max = 512 };
enum reach { no_reach, reach_to_read, whole_reach };
static struct place { const char *path; enum { hide, own, home, keep, open_up } kind; } places[places_max];
static int place_count;

/* Takes an option, whose path is absolute. Returns false if the word is no such option, or if there are too many. */
static bool take_place(const char *word) {
  static const char *const options[] = {"--hide=", "--own=", "--home=", "--keep=", "--open="};
  for (int kind = hide; kind <= open_up; kind++) {
    const size_t length = strlen(options[kind]);
    if (strncmp(word, options[kind], length) != 0) continue;
    if (word[length] != '/' || place_count == places_max) return false;
    places[place_count++] = (struct place){word + length, kind};
    return true;
  }
  return false;
}

/* The option that names exactly this path; NULL if none does. */
static const struct place *place_at(const char *path) {
  const struct place *found = NULL;
  for (const struct place *one = places; one < places + place_count; one++)
    if (strcmp(one->path, path) == 0 && (found == NULL || one->kind < found->kind)) found = one;
  return found;
}

/* Whether an option names a path below this one. */
static bool has_places_below(const char *path) {
  const size_t length = strlen(path);
  for (const struct place *one = places; one < places + place_count; one++)
    if (strncmp(one->path, path, length) == 0 && one->path[length] == '/') return true;
  return false;
}

/*
 * The reach into an entry of a folder. `entry` and `folder` are their options, or NULL, and `above` is the reach into the
 * folder.
 */
static enum reach reach_of(const struct place *entry, const struct place *folder, enum reach above, const char *name, bool is_folder) {
  if (entry != NULL) return entry->kind == hide ? no_reach : entry->kind == keep ? reach_to_read : whole_reach;
  if (folder == NULL || (folder->kind != own && folder->kind != home)) return above;
  const size_t length = strlen(name);
  const bool is_fresh = length >= 4 && strcmp(name + length - 4, ".new") == 0;
  const bool is_theirs = name[0] == '.' && !is_fresh;
  return is_theirs || (is_folder && folder->kind == own) ? whole_reach : no_reach;
}
