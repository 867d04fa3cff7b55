/**
 * A client on another machine: `paired-peer URL JSON`, with JSON of a code to pair by, or of an identity. Prints the
 * result. Run in a namespace.
 */
import { connect, pair, RpcError } from "../../src/client/client.ts";

const [url = "", text = "{}"] = process.argv.slice(2);
const what = JSON.parse(text);
process.stdout.write(JSON.stringify(await run().catch(refusal)));
process.exit(0);

async function run() {
  if (what.code !== undefined) return { identity: await pair(url, what.code, { name: what.name ?? "" }) };
  const client = await connect(url, what);
  const { platform } = await client.call("version");
  const clients = await client.call("clients").then(
    () => "listed",
    (error: unknown) => refusal(error).refused,
  );
  const current = await client.call("clients.current");
  client.close();
  return { platform, clients, current };
}

function refusal(error: unknown) {
  const refused = error instanceof Error ? error.message : String(error);
  return error instanceof RpcError && error.data !== undefined ? { refused, data: error.data } : { refused };
}
