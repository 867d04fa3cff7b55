/** The button of the update entity: a deck whose broker has the rights of an owner, with a stand-in of the image and of hawkBit. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startHawkbitStub } from "../helpers/hawkbit-stub.ts";
import { eventually } from "../helpers/processes.ts";
import { makeStandInImage } from "../helpers/stand-in-image.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";
import { ask, brokerPort, call, say } from "./home.ts";

const entity = "update.tapdeck_hall_system";
/** `UpdateEntityFeature.INSTALL` of Home Assistant. */
const installs = 1;
const waitMsMax = 30_000;
const token = "5a5a5a5a5a5a5a5a";

interface UpdateState {
  readonly state: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export async function installUpdate(): Promise<void> {
  await using image = await makeStandInImage();
  await using server = await startHawkbitStub({ id: "hall", token });
  await using place = await makePlace();
  const settings = (role: string) => `${noReaders}[mqtt]
url = "mqtt://127.0.0.1:${brokerPort}"
id = "hall"
role = "${role}"
[fleet]
hawkbit_url = "${server.url}"
id = "hall"
token_file = "hawkbit-token"
`;
  await writeFile(join(place.folder, "hawkbit-token"), `${token}\n`, { mode: 0o600 });
  await place.config(settings("member"));
  await using _service = await startTapdeck(place, image.command);
  // The update waits for ten quiet minutes.
  const action = server.assign({ content: Buffer.alloc(100_000, "a bundle"), update: "attempt" });
  await shows({ state: "on", latest_version: "0.9.0", supported_features: 0 });
  const refused = await ask("services/update/install", { entity_id: entity });
  if (refused.ok) throw new Error("Home Assistant installs an update without the rights of an owner");
  say(`  ${entity} offers 0.9.0, and mqtt.role = "member" has no button`);
  await place.config(settings("owner"));
  await shows({ state: "on", supported_features: installs });
  await eventually(() => action.said.at(-1)?.includes("waits until nothing plays") === true, waitMsMax);
  if (image.updates() !== 0) throw new Error("the update did not wait");
  await call("update", "install", { entity_id: entity });
  await eventually(() => image.updates() === 1, waitMsMax);
  await image.progress('{"failed":"the file was signed by an unknown key"}\n{"exit":1}\n');
  await shows({ state: "off" });
  say('  with mqtt.role = "owner" its button installs at once; a failed update is offered no more');
  await place.config(noReaders);
  await eventually(async () => (await ask(`states/${entity}`)).status === 404, waitMsMax);
}

/** Waits until the entity has this state and these attributes. */
async function shows({ state, ...attributes }: Readonly<Record<string, unknown>>): Promise<void> {
  await eventually(async () => {
    const now: UpdateState = await (await ask(`states/${entity}`)).json();
    const isSame = Object.entries(attributes).every(([name, value]) => now.attributes?.[name] === value);
    if (!isSame || (state !== undefined && now.state !== state)) throw new Error(JSON.stringify(now));
  }, waitMsMax);
}
