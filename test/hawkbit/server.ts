/** A real hawkBit 0.9, with the variables of `fleet/compose.yaml`, and the calls of its management API (docs/FLEET.md). */
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { isRecord } from "../../src/core/text.ts";
import { freePort } from "../helpers/free-port.ts";
import { eventually, printed } from "../helpers/processes.ts";

const root = join(import.meta.dir, "../..");
/** These values differ from those of the compose file, for this folder and for a short run. */
const password = "for-this-run";
const startMsMax = 240_000;
export const listOf = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.object({ content: v.array(schema) });
const created = v.object({ id: v.number() });

export type HawkbitServer = Awaited<ReturnType<typeof startHawkbit>>;

/**
 * Starts hawkBit. `folder` is for its data, `out` has the files of tools/provision.ts, and `names` are for its
 * certificate.
 */
export async function startHawkbit(
  jar: string,
  folder: string,
  port: number,
  out: string,
  names: readonly string[],
) {
  await mkdir(join(folder, "fleet"), { recursive: true });
  for (const script of ["certify", "issue", "revoke"])
    await copyFile(join(root, "fleet", script), join(folder, "fleet", script));
  await printed(["sh", join(folder, "fleet/certify"), out, ...names]);
  const ca = await readFile(join(out, "ca.pem"), "utf8");
  const log = join(folder, "hawkbit.log");
  const child = Bun.spawn(["java", "-Xmx512m", `-Djava.io.tmpdir=${folder}`, "-jar", jar], {
    stdio: ["ignore", Bun.file(log), Bun.file(`${log}.errors`)],
    cwd: folder,
    env: {
      ...process.env,
      ...(await composeVariables(folder, port)),
      SERVER_ADDRESS: "127.0.0.1",
      HAWKBIT_CONTROLLER_MINPOLLINGTIME: "00:00:05",
    },
  });
  const url = `https://localhost:${port}`;
  const send = async (method: string, path: string, body?: FormData | object): Promise<unknown> => {
    const isForm = body instanceof FormData;
    const response = await fetch(`${url}/rest/v1/${path}`, {
      method,
      tls: { ca },
      headers: {
        authorization: `Basic ${btoa(`admin:${password}`)}`,
        ...(isForm || body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const make = async (path: string, body: object) =>
    v.parse(v.array(created), await send("POST", path, body))[0]?.id;
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`hawkBit has ended: see ${log}`);
    await send("GET", "targets");
  }, startMsMax);
  return {
    url,
    send,
    async get<Schema extends v.GenericSchema>(schema: Schema, path: string): Promise<v.InferOutput<Schema>> {
      return v.parse(schema, await send("GET", path));
    },
    /** Uploads a bundle for the boards of `module`. Returns the id of its distribution set. */
    async publish(module: string, version: string, bundle: Blob): Promise<number> {
      const id = await make("softwaremodules", [{ name: module, version, type: "os" }]);
      const form = new FormData();
      form.append("file", bundle, `${module}-${version}.update`);
      await send("POST", `softwaremodules/${id}/artifacts`, form);
      const set = await make("distributionsets", [{ name: module, version, type: "os", modules: [{ id }] }]);
      if (set === undefined) throw new Error("hawkBit made no distribution set");
      return set;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

export const hawkbitPort = freePort();

async function composeVariables(folder: string, port: number): Promise<Record<string, string>> {
  const compose: unknown = Bun.YAML.parse(await readFile(join(root, "fleet/compose.yaml"), "utf8"));
  const services = isRecord(compose) && isRecord(compose.services) ? compose.services : {};
  const { environment } = isRecord(services.hawkbit) ? services.hawkbit : {};
  const all = Object.entries(isRecord(environment) ? environment : {}).map(([name, value]) => [
    name,
    String(value)
      .replace("/certificates/", `${join(folder, "fleet/certificates")}/`)
      .replace("/artifactrepo", join(folder, "artifacts"))
      .replace(/\$\{HAWKBIT_PASSWORD[^}]*\}/, password),
  ]);
  return { ...Object.fromEntries(all), SERVER_PORT: String(port) };
}
