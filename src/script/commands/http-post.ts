/** `**http.post:url,type,body`: tells a server something. */
import type { ScriptCommand } from "../command.ts";

export const httpPost: ScriptCommand = {
  names: ["http.post"],
  argsMin: 3,
  argsMax: 3,
  args: "url, content type, body",
  options: {},
  startsMedia: false,
  waits: true,
  allowedUntrusted: false,
  docs: "Sends a body to a server, and fails unless it answers well. The address must match `script.allow_http` in the config file.",
  example: "**http.post:https://example.com/lamp,application/json,'{\"on\":true}'",
  run: ({ args: [url = "", type = "", body = ""] }, ports, signal) =>
    ports.request({ method: "POST", url, content: { type, body } }, signal),
};
