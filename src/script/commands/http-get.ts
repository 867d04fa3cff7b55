/** `**http.get:url`: asks a server. */
import type { ScriptCommand } from "../command.ts";

export const httpGet: ScriptCommand = {
  names: ["http.get", "get"],
  argsMin: 1,
  argsMax: 1,
  args: "url",
  options: {},
  startsMedia: false,
  waits: true,
  allowedUntrusted: false,
  docs: "Asks a server, and fails unless it answers well. The address must match `script.allow_http` in the config file; what it answers is dropped.",
  example: '**http.get:"https://example.com/lamp?on=1"',
  run: ({ args: [url = ""] }, ports, signal) => ports.request({ method: "GET", url }, signal),
};
