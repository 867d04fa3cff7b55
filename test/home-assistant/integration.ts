/** The custom integration of `packaging/home-assistant` in a real Home Assistant, with the real service and mpv. */
import { join } from "node:path";
import { mp3 } from "../helpers/audio-files.ts";
import { makeNetwork } from "../helpers/namespaces.ts";
import { eventually, printed, within } from "../helpers/processes.ts";
import {
  indexMedia,
  makePlace,
  noReaders,
  program,
  type Running,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";
import { pngOf } from "../image/picture.ts";
import { ask, call, configFolder, openSocket, python, root, say } from "./home.ts";

const port = 7497;
const mpv = `
[[launchers]]
id = "mpv"
kind = "mpv"
extensions = [".mp3"]
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;

interface FlowStep {
  readonly flow_id: string;
  readonly type: string;
  readonly step_id?: string;
  readonly errors?: Readonly<Record<string, string>>;
  readonly result?: { readonly entry_id: string };
}

interface Entry {
  readonly title: string;
  readonly media_content_type: string;
  readonly media_content_id: string;
  readonly can_play: boolean;
  readonly thumbnail: string | null;
  readonly children?: readonly Entry[];
}

interface PlayerState {
  readonly entity_id: string;
  readonly state: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The deck from the view of Home Assistant. A caller on its own machine would not be asked for a code. */
const deckAddress = "10.78.0.1";

export async function useIntegration(): Promise<void> {
  await checkTypes();
  await announceDeck();
  await using network = await makeNetwork();
  await using place = await makePlace();
  await Bun.write(join(place.folder, "config.toml"), noReaders + mpv + sleeper(".sfc"));
  const door = `ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`;
  const start = () => startTapdeck(place, network.onDevice([program]), door);
  const onDeck = (...words: string[]) => printed(network.onDevice(["ip", ...words]));
  await onDeck("link", "add", "tdhome", "type", "veth", "peer", "name", "tddeck", "netns", `${process.pid}`);
  await onDeck("address", "add", `${deckAddress}/24`, "dev", "tdhome");
  await onDeck("link", "set", "tdhome", "up");
  await printed(["ip", "address", "add", "10.78.0.2/24", "dev", "tddeck"]);
  await printed(["ip", "link", "set", "tddeck", "up"]);
  await place.file("SNES/Sonic.sfc");
  for (const [at, title] of ["One", "Two"].entries())
    await Bun.write(join(place.folder, `media/Audio/Hits/${at + 1}.mp3`), song(title, at + 1));
  {
    await using service = await start();
    const { client } = service;
    await indexMedia(client);
    await eventually(async () => (await client.call("media.search", { query: "zoe" })).results.length === 2);
    const entryId = await pairHome(service);
    await eventually(async () => (await player()).state === "idle");
    say(`  ${(await player()).entity_id} = idle, after pairing by a code`);
    await playGame(service);
    await playSongs(service);
    await browseLibrary(service);
    await diagnose(entryId, service);
  }
  await eventually(async () => (await player()).state === "unavailable");
  say("  without the deck the player is unavailable");
  await using again = await start();
  await eventually(async () => (await player()).state === "idle", 60_000);
  say("  it is back with the deck");
  const { clients } = await again.client.call("clients");
  await again.client.call("clients.delete", { id: clients[0]?.id ?? "" });
  using socket = await openSocket();
  await eventually(async () => {
    const flows = await socket.ask("config_entries/flow/progress");
    return JSON.stringify(flows).includes('"source":"reauth"');
  });
  say("  after a revocation Home Assistant asks to pair again");
}

/** The check uses mypy, without the parts that Home Assistant itself leaves without types. */
async function checkTypes(): Promise<void> {
  const lenient = ["--follow-untyped-imports", "--implicit-reexport", "--allow-untyped-calls"];
  const words = [
    "-m",
    "mypy",
    "--strict",
    `--cache-dir=${join(root, "build/home-assistant/mypy")}`,
    ...lenient,
    "--explicit-package-bases",
    "custom_components/tapdeck",
  ];
  const child = Bun.spawn([python, ...words], {
    cwd: join(root, "packaging/home-assistant"),
    env: { ...process.env, MYPYPATH: join(root, "packaging/python") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const out = await new Response(child.stdout).text();
  expectSame("the check of the types", out.trim(), "Success: no issues found in 6 source files");
  say("  the types of the integration are right (mypy --strict)");
}

/** A deck that is found in the network, and found again. */
async function announceDeck(): Promise<void> {
  const out = await printed([python, join(root, "test/home-assistant/found.py"), configFolder]);
  const wanted = { step: "pair", name: "Hall", again: "already_in_progress", unique_id: "hall.local" };
  expectSame("a deck that announces itself", out, JSON.stringify(wanted).replace(/([:,])"/g, '$1 "'));
  say("  a deck that announces itself asks for a code, once");
}

function song(title: string, track: number): Uint8Array {
  const picture = pngOf({ width: 90, height: 90, pixels: new Uint8Array(90 * 90 * 3).fill(120) });
  return mp3({ title, artist: "Zoë", album: "Hits", track, disc: 1, picture }, 120);
}

/**
 * Goes through the configuration from the form of the address to the entry, and once types a wrong code; returns the entry's
 * id.
 */
async function pairHome({ client }: Running): Promise<string> {
  const flow = async (path: string, body: object): Promise<FlowStep> => {
    const answer = await ask(`config/config_entries/flow${path}`, body);
    if (!answer.ok) throw new Error(`flow: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const { flow_id: id } = await flow("", { handler: "tapdeck" });
  const asked = await flow(`/${id}`, { host: deckAddress, port });
  expectSame("the step after the address", asked.step_id, "pair");
  const early = await flow(`/${id}`, { code: "123456" });
  expectSame("the fault of a code too early", early.errors?.base, "no_pairing");
  const { code } = await client.call("pairing.open", { host: deckAddress });
  const short = await flow(`/${id}`, { code: "12" });
  expectSame("the fault of a short code", short.errors?.code, "no_code");
  const other = String((Number(code.replaceAll(" ", "")) + 1) % 1_000_000).padStart(6, "0");
  const wrong = await flow(`/${id}`, { code: other });
  expectSame(
    "the fault of a wrong code",
    JSON.stringify(wrong.errors),
    JSON.stringify({ code: "wrong_code" }),
  );
  const done = await flow(`/${id}`, { code });
  expectSame("the end of the flow", done.type, "create_entry");
  return done.result?.entry_id ?? "";
}

async function playGame(service: Running): Promise<void> {
  await ask("events/play_sonic", {});
  const { mediaPath } = await within("launch", service.heard.next("media.started"));
  say(`  media_player.play_media of an automation started ${mediaPath}`);
  await shows({ state: "playing", media_title: "Sonic", media_content_type: "game" });
  await act("media_stop");
  await shows({ state: "idle" });
}

async function playSongs({ client }: Running): Promise<void> {
  await act("play_media", { media_content_type: "folder", media_content_id: "Audio/Hits" });
  await shows({ state: "playing", media_title: "One", media_artist: "Zoë", media_album_name: "Hits" });
  await eventually(async () => (await player()).attributes.media_duration === 120);
  await act("media_pause");
  await shows({ state: "paused" });
  await act("media_seek", { seek_position: 60 });
  await shows({ media_position: 60 });
  await act("volume_set", { volume_level: 0.35 });
  await shows({ volume_level: 0.35 });
  await act("media_next_track");
  await shows({ media_title: "Two", state: "playing" });
  const picture = String((await player()).attributes.entity_picture);
  const cover = await ask(picture.replace("/api/", ""));
  expectSame("the type of the cover", cover.headers.get("content-type"), "image/webp");
  say("  a folder plays as a list; pause, seek, volume and next work, and the cover is shown");
  expectSame("the title on the deck", (await client.call("media.active"))?.audio?.title, "Two");
  await act("media_stop");
  await shows({ state: "idle" });
}

async function browseLibrary({ heard }: Running): Promise<void> {
  using socket = await openSocket();
  const { entity_id } = await player();
  const open = async (entry?: Entry): Promise<readonly Entry[]> => {
    const { media_content_type, media_content_id } = entry ?? {};
    const asked = entry === undefined ? {} : { media_content_type, media_content_id };
    const found = await socket.ask("media_player/browse_media", { entity_id, ...asked });
    return (found as Entry).children ?? [];
  };
  const inside = async (name: string, entries: readonly Entry[]) =>
    open(entries.find(({ title }) => title === name));
  const systems = await open();
  const songs = await inside("Hits", await inside("Audio", systems));
  expectSame("the songs", songs.map(({ title }) => title).join(), "One,Two");
  const thumbnail = await ask((songs[1]?.thumbnail ?? "").replace("/api/", ""));
  expectSame("the type of a thumbnail", thumbnail.headers.get("content-type"), "image/webp");
  heard.forget();
  const { media_content_type, media_content_id } = songs[1] ?? {};
  await act("play_media", { media_content_type, media_content_id });
  await within(
    "song",
    heard.next("media.started", ({ mediaName }) => mediaName === "2"),
  );
  await act("media_stop");
  say(
    `  the library: ${systems.map(({ title }) => title).join(", ")}; ${songs.map(({ title }) => title).join(", ")} in Hits`,
  );
}

async function diagnose(entryId: string, { client }: Running): Promise<void> {
  const answer = await ask(`diagnostics/config_entry/${entryId}`);
  const text = await answer.text();
  const { clients } = await client.call("clients");
  if (!text.includes('"checks"') || text.includes(clients[0]?.id ?? ""))
    throw new Error(`diagnostics: ${text}`);
  say("  diagnostics have the health of the deck, and no identity");
}

async function player(): Promise<PlayerState> {
  const all: readonly PlayerState[] = await (await ask("states")).json();
  const found = all.find(({ entity_id }) => entity_id.startsWith("media_player."));
  if (found === undefined) throw new Error("there is no player");
  return found;
}

async function act(service: string, more: object = {}): Promise<void> {
  await call("media_player", service, { entity_id: (await player()).entity_id, ...more });
}

/** Waits until the player has this state and these attributes. */
async function shows({ state, ...attributes }: Readonly<Record<string, unknown>>): Promise<void> {
  await eventually(async () => {
    const now = await player();
    const isSame = Object.entries(attributes).every(([name, value]) => now.attributes[name] === value);
    if (!isSame || (state !== undefined && now.state !== state)) throw new Error(JSON.stringify(now));
  }, 30_000);
}

function expectSame(what: string, found: unknown, wanted: unknown): void {
  if (found !== wanted)
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
}
