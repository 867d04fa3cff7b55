/** Debian's mosquitto with certificates of its own, and its programs as other clients. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { linesOf } from "./lines.ts";
import { eventually, printed, within } from "./processes.ts";

export const mosquitto = Bun.which("mosquitto") ?? "/usr/sbin/mosquitto";

/** A message as `mosquitto_sub -F %j` prints it. */
interface Heard {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

export type TestBroker = Awaited<ReturnType<typeof makeBroker>>;

/**
 * A broker with two ports: one with TLS for devices, which are named by their certificates, and one without TLS for the
 * accounts `admin` and `deck`, which have passwords. A device may write and read below its own name only.
 */
export async function makeBroker() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-broker-"));
  const file = (name: string) => join(folder, name);
  const [tlsPort, plainPort] = [freePort(), freePort()];
  const openssl = (...words: readonly string[]) => printed(["openssl", ...words]);
  const key = (name: string) =>
    openssl(
      "genpkey",
      "-algorithm",
      "EC",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      `-out=${file(`${name}.key`)}`,
    );
  const authority = async (name: string) => {
    await key(name);
    await openssl(
      "req",
      "-x509",
      "-new",
      "-key",
      file(`${name}.key`),
      "-subj",
      `/CN=${name}`,
      "-days",
      "300",
      "-out",
      file(`${name}.pem`),
    );
  };
  /** Makes `<name>.pem` and `<name>.key`, valid for the name and for 127.0.0.1. */
  const issue = async (name: string, by = "ca") => {
    await key(name);
    await writeFile(file(`${name}.ext`), "subjectAltName=IP:127.0.0.1\n");
    const csr = file(`${name}.csr`);
    await openssl("req", "-new", "-key", file(`${name}.key`), "-subj", `/CN=${name}`, "-out", csr);
    const signed = ["-CA", file(`${by}.pem`), "-CAkey", file(`${by}.key`), "-CAcreateserial", "-days", "300"];
    await openssl(
      "x509",
      "-req",
      "-in",
      csr,
      ...signed,
      "-extfile",
      file(`${name}.ext`),
      "-out",
      file(`${name}.pem`),
    );
  };
  await Promise.all([authority("ca"), authority("other")]);
  await issue("broker");
  for (const user of ["admin", "deck"]) {
    const isFirst = user === "admin" ? ["-c"] : [];
    await printed(["mosquitto_passwd", "-b", ...isFirst, file("passwords"), user, `${user}-secret`]);
  }
  await writeFile(file("devices.acl"), deviceAcl);
  await writeFile(file("people.acl"), "user admin\ntopic readwrite #\nuser deck\ntopic readwrite #\n");
  await writeFile(
    file("mosquitto.conf"),
    `per_listener_settings true
user root
persistence true
persistence_location ${folder}/
listener ${tlsPort} 127.0.0.1
cafile ${file("ca.pem")}
certfile ${file("broker.pem")}
keyfile ${file("broker.key")}
require_certificate true
use_identity_as_username true
acl_file ${file("devices.acl")}
listener ${plainPort} 127.0.0.1
allow_anonymous false
password_file ${file("passwords")}
acl_file ${file("people.acl")}
`,
  );
  let running: Bun.Subprocess | undefined;
  const listening = new Set<Bun.Subprocess>();
  const asAdmin = ["-h", "127.0.0.1", "-p", `${plainPort}`, "-u", "admin", "-P", "admin-secret", "-V", "5"];
  return {
    folder,
    file,
    issue,
    tlsPort,
    plainPort,
    async start() {
      running = Bun.spawn([mosquitto, "-c", file("mosquitto.conf")], {
        stdio: ["ignore", "ignore", "ignore"],
      });
      await eventually(async () => {
        const socket = await Bun.connect({ hostname: "127.0.0.1", port: plainPort, socket: { data() {} } });
        socket.end();
      });
    },
    async stop() {
      running?.kill();
      await running?.exited;
    },
    /**
     * Yields all messages of these topics from now on, the retained ones first. Resolves once the broker has made the
     * subscription.
     */
    async listen(...topics: readonly string[]) {
      const heard: Heard[] = [];
      let wake = Promise.withResolvers<void>();
      const words = topics.flatMap((topic) => ["-t", topic]);
      // With `-d` it also prints its acts, and `stdbuf` makes it print each line at once. A message is a line of JSON.
      const options = ["-d", "-q", "1", "--retain-as-published", "-F", "%j"];
      const child = Bun.spawn(["stdbuf", "-oL", "mosquitto_sub", ...asAdmin, ...options, ...words], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      listening.add(child);
      const subscribed = Promise.withResolvers<void>();
      const read = async () => {
        for await (const line of linesOf(child.stdout)) {
          if (line.startsWith("Subscribed")) subscribed.resolve();
          if (!line.startsWith("{")) continue;
          const { topic, payload, retain } = JSON.parse(line);
          heard.push({ topic, payload: payload ?? "", retain: retain === 1 });
          wake.resolve();
          wake = Promise.withResolvers();
        }
      };
      void read();
      await within("the subscription of mosquitto_sub", subscribed.promise, { seen: () => topics });
      const taken = new Set<Heard>();
      return {
        heard,
        /** The first message of this topic that `fits` accepts and that was not returned before. */
        async next(topic: string, fits: (payload: string) => boolean = () => true): Promise<Heard> {
          const look = async () => {
            for (;;) {
              const found = heard.find((one) => one.topic === topic && !taken.has(one) && fits(one.payload));
              if (found !== undefined) {
                taken.add(found);
                return found;
              }
              await wake.promise;
            }
          };
          return within(`message on ${topic}`, look(), { seen: () => heard });
        },
        stop: () => child.kill(),
      };
    },
    /** Publishes as the administrator. */
    publish: (topic: string, payload: string, ...flags: readonly string[]) =>
      printed(["mosquitto_pub", ...asAdmin, "-q", "1", "-t", topic, "-m", payload, ...flags]),
    /** Publishes as a device with this certificate. Resolves with the exit code and the output of the program. */
    async publishAs(name: string, topic: string) {
      const tls = ["--cafile", file("ca.pem"), "--cert", file(`${name}.pem`), "--key", file(`${name}.key`)];
      const child = Bun.spawn(
        [
          "mosquitto_pub",
          "-h",
          "127.0.0.1",
          "-p",
          `${tlsPort}`,
          ...tls,
          "-V",
          "5",
          "-q",
          "1",
          "-t",
          topic,
          "-m",
          "x",
        ],
        { stdio: ["ignore", "pipe", "pipe"] },
      );
      const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
      return { said, code: await child.exited };
    },
    /** Sends a command, and resolves with its answer (request and response of MQTT 5). */
    async ask(device: string, method: string, params: string, seconds = 30): Promise<unknown> {
      const topics = ["-t", `${device}/cmd/${method}`, "-e", `${device}/reply/test`];
      return JSON.parse(
        await printed(["mosquitto_rr", ...asAdmin, "-q", "1", ...topics, "-m", params, "-W", `${seconds}`]),
      );
    },
    async [Symbol.asyncDispose]() {
      for (const child of listening) child.kill();
      running?.kill();
      await running?.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The access list that docs/FLEET.md shows. */
const deviceAcl = `pattern readwrite tapdeck/%u/availability
pattern write tapdeck/%u/state
pattern write tapdeck/%u/state/#
pattern write tapdeck/%u/media
pattern write tapdeck/%u/readers
pattern write tapdeck/%u/tap
pattern write tapdeck/%u/launch
pattern write tapdeck/%u/reply/#
pattern read tapdeck/%u/cmd/#
pattern read tapdeck/%u/certificate
pattern read tapdeck/@all/cmd/#
pattern write homeassistant/+/%u/#
`;
