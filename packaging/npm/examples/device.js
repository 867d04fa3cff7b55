// The connection of the examples: to the device of TAPDECK_URL, or to this one. With TAPDECK_CODE it pairs first, and keeps
// the identity in a file that only its owner can read.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, pair } from "tapdeck-client";

const url = process.env.TAPDECK_URL ?? "ws://127.0.0.1:7497/api/v0.1";
const file = "tapdeck-identity.json";

export async function connectToDevice() {
  const code = process.env.TAPDECK_CODE;
  if (code !== undefined) {
    const identity = await pair(url, code, { name: "examples of tapdeck-client" }).catch((error) => {
      console.error(`not paired: ${error.message}`);
      process.exit(1);
    });
    writeFileSync(file, JSON.stringify(identity), { mode: 0o600 });
  }
  const identity = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  return connect(url, { ...identity, reconnect: true });
}
