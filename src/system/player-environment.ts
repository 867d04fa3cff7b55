/**
 * The environment that players and programs of cards start with: a fixed list, so that neither what steers our runtime nor
 * what somebody left in the service's surroundings (a password, `LD_PRELOAD`) reaches them.
 */

/** Names, and beginnings of names (with a `*`): who and where one is, the language, the screen, the sound, and their drivers. */
const kept = [
  ...["HOME", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*"],
  ...["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION"],
  ...["ALSA_*", "PULSE_*", "PIPEWIRE_*", "JACK_*"],
  ...["SDL_*", "QT_QPA_*", "GDK_BACKEND", "MESA_*", "LIBGL_*", "GBM_*", "EGL_*", "LIBVA_*", "VDPAU_*"],
] as const;

const exact: ReadonlySet<string> = new Set(kept.filter((name) => !name.endsWith("*")));
const beginnings = kept.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));

/** What of this process's environment a player gets. */
export function playerEnvironmentOf(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => exact.has(name) || beginnings.some((beginning) => name.startsWith(beginning)),
    ),
  );
}

/** Made once: nothing of it changes while the service runs. */
export const playerEnvironment = playerEnvironmentOf(process.env);
