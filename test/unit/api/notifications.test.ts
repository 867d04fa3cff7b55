/** Events that callers with different rights receive. */
import { expect, test } from "bun:test";
import { createConnection } from "../../../src/api/connection.ts";
import { forwardEvents } from "../../../src/api/notifications.ts";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Grant } from "../../../src/core/rights.ts";

test("a stranger hears the host of a stream, and not the secret in its address", () => {
  const bus = createBus(silentLog);
  const heard: [Grant, string][] = [];
  const receivers = (["none", "look", "change"] as const).map((grant) => {
    const caller = {
      access: "remote",
      grant: () => grant,
      from: { address: "10.0.0.2" },
      resultFor: undefined,
    } as const;
    return createConnection(caller, (text) => heard.push([grant, JSON.parse(text).params.mediaPath]));
  });
  using _forwarding = forwardEvents(bus, new Set(receivers));
  const media = {
    systemId: "Audio",
    systemName: "Audio",
    mediaName: "Radio",
    launcherId: "mpv",
    started: "2026-01-01T00:00:00Z",
  };
  bus.emit("media.started", { ...media, mediaPath: "https://radio.example/a.mp3?token=SECRET" });
  bus.emit("media.started", { ...media, mediaPath: "/media/Audio/a.mp3" });
  expect(heard).toEqual([
    ["look", "https://radio.example"],
    ["change", "https://radio.example/a.mp3?token=SECRET"],
    ["look", "/media/Audio/a.mp3"],
    ["change", "/media/Audio/a.mp3"],
  ]);
});
