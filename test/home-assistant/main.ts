/**
 * `make test-home-assistant`: a real Home Assistant, mosquitto and the real service with its simulated reader, in a network
 * namespace of their own. It prints the entities, the event of a tag, a launch by an automation, an update by its button,
 * and the states and effects of the custom integration. The exit code is 1 if one is missing.
 */
import { mosquitto } from "../helpers/mosquitto.ts";
import { eventually, within } from "../helpers/processes.ts";
import { firstReader, makePlace, noReaders, sleeper, startTapdeck } from "../helpers/tapdeck.ts";
import { ask, brokerPort, call, entities, listen, say, startHome, uid } from "./home.ts";
import { installUpdate } from "./install.ts";
import { useIntegration } from "./integration.ts";

const startMsMax = 180_000;
const findMsMax = 30_000;
const wantedEntities = [
  "sensor.tapdeck_hall_now_playing",
  "sensor.tapdeck_hall_version",
  "binary_sensor.tapdeck_hall_reader",
  "binary_sensor.tapdeck_hall_problem",
  "button.tapdeck_hall_stop",
  "button.tapdeck_hall_confirm",
  "number.tapdeck_hall_volume",
  "text.tapdeck_hall_launch",
  "update.tapdeck_hall_system",
];

const broker = Bun.spawn([mosquitto, "-p", `${brokerPort}`], { stdio: ["ignore", "ignore", "ignore"] });
const home = await startHome();
try {
  await eventually(async () => (await ask("states")).ok, startMsMax);
  say("Home Assistant answers");
  await tellAlerts();
  await useDeck();
  await installUpdate();
  await useIntegration();
} finally {
  home.kill();
  broker.kill();
  await Promise.all([home.exited, broker.exited]);
}

/** Calls the webhook as Alertmanager does (prometheus.io, "webhook_config"). */
async function tellAlerts(): Promise<void> {
  const events = await listen("alerts_told");
  const alerts = ["hall-1", "hall-2"].map((deck) => ({
    annotations: { summary: `${deck} does not answer` },
  }));
  const told = events.next();
  // Its automations may start after its first answer.
  await eventually(async () => {
    await ask("webhook/tapdeck-alerts", { status: "firing", alerts });
    return (await Promise.race([told, Bun.sleep(500)])) !== undefined;
  });
  const text = JSON.stringify((await told).value);
  if (!text.includes('"hall-1 does not answer, hall-2 does not answer"')) throw new Error(text);
  say("  the automation of FLEET.md says which decks are away");
}

async function useDeck(): Promise<void> {
  await using place = await makePlace(`${noReaders}connect = ["simulated:"]
[mqtt]
url = "mqtt://127.0.0.1:${brokerPort}"
id = "hall"
${sleeper()}`);
  await place.file("SNES/Sonic.sfc");
  {
    await using service = await startTapdeck(place);
    await firstReader(service);
    await eventually(async () => {
      const found = await entities();
      const missing = wantedEntities.filter((id) => !found.has(id));
      if (missing.length > 0)
        throw new Error(`missing: ${missing.join(" ")}; there: ${[...found.keys()].join(" ")}`);
    }, findMsMax);
    await eventually(async () => (await entities()).get("binary_sensor.tapdeck_hall_reader") === "on");
    for (const [id, state] of await entities()) say(`  ${id} = ${state}`);

    const events = await listen("tag_scanned");
    const { readers } = await service.client.call("readers");
    const readerId = readers[0]?.readerId ?? "";
    await service.client.call("tokens.scan", { uid, text: "**echo:tapped", readerId });
    const event = await within("tag event", events.next());
    say(`  tag event: ${JSON.stringify(event.value)}`);
    const started = await service.heard.next("media.started");
    say(`  the automation launched ${started.mediaPath}`);
    await eventually(async () => (await entities()).get("sensor.tapdeck_hall_now_playing") === "Sonic");
    say("  sensor.tapdeck_hall_now_playing = Sonic");
    await call("button", "press", { entity_id: "button.tapdeck_hall_stop" });
    await service.heard.next("media.stopped");
    say("  button.tapdeck_hall_stop stopped it");
    await call("number", "set_value", { entity_id: "number.tapdeck_hall_volume", value: 40 });
    await service.heard.next("running", ({ script }) => script === "**volume:40");
    say("  number.tapdeck_hall_volume set the volume to 40");
    process.kill(service.pid, "SIGKILL");
    await eventually(async () => (await entities()).get("text.tapdeck_hall_launch") === "unavailable");
    say("  after a kill all entities are unavailable");
  }
  await place.config(noReaders);
  await using _off = await startTapdeck(place);
  await eventually(async () => (await entities()).size === 0);
  say("  after MQTT was switched off no entity is left");
}
