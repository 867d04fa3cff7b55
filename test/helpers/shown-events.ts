/** A reader, media and a launch, as the events name them that the screen and the lights of the case follow. */
export const shownReader = { path: "/dev/ttyUSB0", info: "reader", connected: true };

export const shownMedia = {
  systemId: "SNES",
  systemName: "SNES",
  mediaPath: "/m/Mario.sfc",
  mediaName: "Mario",
  launcherId: "x",
  started: "2026-01-01T00:00:00Z",
};

export const shownLaunch = { time: "2026-01-01T00:00:00Z", uid: "04", text: "" };
