/**
 * The right that each method and each notification requires, as a table beside the code's own. Also params for each method
 * that do no harm and end soon. Each new method needs a line here.
 */

/** The rights, the lowest first. Each right includes those before it. */
export const grants = ["none", "look", "play", "change", "own"] as const;
export type Grant = (typeof grants)[number];

export function includes(grant: Grant, required: Grant): boolean {
  return grants.indexOf(grant) >= grants.indexOf(required);
}

interface MethodRow {
  readonly right: Exclude<Grant, "none">;
  /** True for a method that is refused over the network whatever the rights, because it works with secrets. */
  readonly isLocal?: true;
  readonly params?: unknown;
}

const [look, play, change, own, local] = [
  { right: "look" },
  { right: "play" },
  { right: "change" },
  { right: "own" },
  { right: "own", isLocal: true },
] as const satisfies readonly MethodRow[];

const script = { text: "**delay:1" };
const uidMapping = {
  enabled: true,
  type: "uid",
  match: "exact",
  pattern: "04aabbcc",
  override: "**delay:1",
};

/**
 * The rights by name, also by alias. The order avoids long waits: a method that waits for an opening comes before the
 * opening.
 */
export const methodRows: Readonly<Record<string, MethodRow>> = {
  version: look,
  health: look,
  rights: look,
  systems: look,
  launchers: look,
  media: look,
  "media.active": look,
  "media.playlist": look,
  "media.search": { ...look, params: { query: "long" } },
  "media.browse": look,
  "media.image": { ...look, params: { system: "SNES", path: "SNES/nothing.sfc" } },
  "media.tags": look,
  "media.favourites": look,
  "media.folders": { ...look, params: { query: "long" } },
  "media.lookup": { ...look, params: { system: "SNES", name: "long" } },
  launch: { ...play, params: script },
  run: { ...play, params: script },
  "media.control": { ...play, params: { action: "pause" } },
  stop: play,
  sleep: look,
  "sleep.update": { ...play, params: { minutes: 0 } },
  confirm: play,
  tokens: change,
  "tokens.cards": change,
  "tokens.scan": { ...change, params: { ...script, duration: 1 } },
  "tokens.history": { ...change, params: { limit: 1 } },
  screenshot: change,
  "media.history": change,
  "media.history.latest": change,
  "media.history.top": change,
  "settings.logs.download": change,
  uploads: change,
  "uploads.systems": change,
  "uploads.start": { ...change, params: { files: [{ system: "SNES", path: "../x", size: 1 }] } },
  "uploads.finish": { ...change, params: { id: "0".repeat(32), sha256: "0".repeat(64) } },
  "uploads.cancel": { ...change, params: { id: "0".repeat(32) } },
  "media.favourites.update": { ...change, params: { path: "SNES/nothing.sfc", favourite: false } },
  "media.delete": { ...change, params: { path: "SNES/nothing.sfc" } },
  "media.move": { ...change, params: { path: "SNES/nothing.sfc", system: "NES" } },
  "media.index": { ...change, params: { systems: [] } },
  "media.generate": { ...change, params: { systems: [] } },
  "media.index.cancel": change,
  "media.generate.cancel": change,
  settings: change,
  "settings.describe": change,
  device: change,
  logs: { ...change, params: { limit: 1 } },
  "settings.update": { ...change, params: {} },
  "settings.reload": change,
  "settings.playtime.limits": change,
  playtime: change,
  mappings: change,
  "mappings.shared": change,
  "mappings.new": { ...change, params: uidMapping },
  "mappings.update": { ...change, params: { id: 999_999, label: "x" } },
  "mappings.delete": { ...change, params: { id: 999_999 } },
  "mappings.reload": change,
  "mappings.test": { ...change, params: { uid: "04aabbcc" } },
  "mappings.export": { ...change, params: { format: "csv" } },
  "mappings.import": { ...change, params: { format: "csv", content: "no columns" } },
  "launchers.refresh": change,
  readers: change,
  "readers.write": { ...change, params: { text: "x", readerId: "no such reader" } },
  "readers.write.cancel": change,
  "input.keyboard": { ...change, params: { keys: "a" } },
  "input.gamepad": { ...change, params: { buttons: "A" } },
  "playtime.limits.update": { ...own, params: {} },
  "settings.playtime.limits.update": { ...own, params: {} },
  "device.restart": own,
  "device.shutdown": own,
  "update.check": change,
  "device.update": { ...own, params: { url: "http://127.0.0.1:9/" } },
  clients: local,
  "clients.current": look,
  "clients.new": { ...local, params: { name: "of the matrix" } },
  "clients.update": { ...local, params: { id: "nobody", role: "player" } },
  "clients.delete": { ...local, params: { id: "nobody" } },
  buttons: own,
  "buttons.learn": { ...own, params: { waitMs: 1 } },
  "buttons.learn.cancel": own,
  "buttons.save": { ...own, params: { key: "KEY_A", script: "**stop" } },
  "buttons.remove": { ...own, params: { key: "KEY_A" } },
  broker: own,
  "broker.update": { ...own, params: { url: "no address" } },
  "broker.test": own,
  wifi: own,
  "wifi.search": own,
  "wifi.join": { ...own, params: { id: "4e6f6e65" } },
  "wifi.prefer": { ...own, params: { id: "4e6f6e65" } },
  "wifi.forget": { ...own, params: { id: "4e6f6e65" } },
  "wifi.open": own,
  bluetooth: own,
  "bluetooth.search": own,
  "bluetooth.pair": { ...own, params: { address: "00:1B:DC:00:00:02" } },
  "bluetooth.forget": { ...own, params: { address: "00:1B:DC:00:00:02" } },
  share: own,
  "share.set": { ...own, params: { password: "none of a PC" } },
  "share.remove": own,
  phones: own,
  "phones.update": { ...own, params: { id: "nobody", role: "player" } },
  "phones.delete": { ...own, params: { id: "nobody" } },
  "phones.restore": { ...own, params: { id: "nobody" } },
  "clients.pair.start": own,
  "clients.pair.cancel": own,
  pairing: own,
  "pairing.wait": own,
  "pairing.open": own,
  "pairing.cancel": own,
  audit: { ...own, params: { limit: 1 } },
  backup: own,
  "backup.read": { ...own, params: { offset: 0 } },
  "backup.send": { ...own, params: { offset: 0, data: "" } },
  restore: { ...own, params: { sha256: "0".repeat(64) } },
  // This method has the longest answer.
  "rpc.discover": look,
};

export const notificationRights: Readonly<Record<string, Exclude<Grant, "none">>> = {
  "media.started": "look",
  "media.paused": "look",
  "media.resumed": "look",
  "media.stopped": "look",
  "media.indexing": "look",
  running: "change",
  "launch.finished": "change",
  "launch.guarded": "change",
  "playlist.opened": "look",
  "playtime.warning": "change",
  "playtime.limit.warning": "change",
  "playtime.limit.reached": "change",
  "clients.paired": "own",
  "device.updating": "change",
  "tokens.added": "change",
  "tokens.removed": "change",
  "tokens.written": "change",
  "media.uploading": "change",
  "readers.added": "change",
  "readers.removed": "change",
};
