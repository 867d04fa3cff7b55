/**
 * Commands from the broker: `cmd/<method>` with the params of JSON-RPC, to this device or to a group. The answer goes to the
 * response topic of the message, with its correlation data (MQTT 5, 4.10).
 */
import { messageOf, rpcCodes } from "../core/errors.ts";
import type * as limits from "../core/limits.ts";
import { messageBytesMax, mqttCommandBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Role } from "../core/rights.ts";
import { isRecord, parseJson } from "../core/text.ts";
import type { Broker } from "./broker.ts";
import type { Message } from "./broker-link.ts";

/** A caller over the broker. */
export interface MqttCaller {
  /** The answer to one JSON-RPC payload. */
  call(payload: string): string | undefined | Promise<string | undefined>;
  /** Takes one token of the limit of commands; false if there is none. */
  take(): boolean;
  /** The connection of the command has ended. */
  end(): void;
}

interface CommandParts {
  /** The topics of the groups to which this device belongs. */
  readonly groups: readonly string[];
  readonly caller: (role: Role) => MqttCaller;
  readonly log: Log;
}

const tellAgainMs = 60_000;

export function createCommands(
  { caller: callerOf, groups, log }: CommandParts,
  { topic: own, role }: Broker,
  answer: (topic: string, text: string, correlationData: Buffer | undefined) => Promise<unknown>,
) {
  let caller: MqttCaller | undefined;
  let dropped = 0;
  let toldMs = Number.NEGATIVE_INFINITY;
  /** A flood of commands causes one log line a minute. */
  const drop = (method: string, why: string) => {
    dropped += 1;
    if (performance.now() - toldMs < tellAgainMs) return;
    toldMs = performance.now();
    log.warn("mqtt", "a command was dropped", { method, why, dropped });
  };
  const run = async (
    from: string,
    method: string,
    { payload, responseTopic: asked, correlationData }: Message,
  ) => {
    const responseTopic = replyTopicOf(asked, from, own);
    // The answer must not become a message of another device, or a command.
    if (asked !== undefined && responseTopic === undefined)
      return log.warn("mqtt", "a command was ignored: its response topic must begin with", {
        method,
        topic: `${from}/reply/`,
      });
    const text = (await caller?.call(requestOf(method, payload))) ?? "";
    const isTooLong = Buffer.byteLength(text) > messageBytesMax;
    if (responseTopic !== undefined)
      return void (await answer(responseTopic, isTooLong ? tooLong() : text, correlationData));
    const result = parseJson(text);
    if (isRecord(result) && isRecord(result.error))
      log.info("mqtt", "a command failed", { method, error: String(result.error.message) });
  };
  return {
    /** The number of commands since the start that did not run, because there were too many or they were too long. */
    dropped: () => dropped,
    open() {
      caller = callerOf(role);
    },
    close() {
      caller?.end();
      caller = undefined;
    },
    receive(topic: string, message: Message) {
      // A retained command is an old one.
      if (message.isRetained || caller === undefined) return;
      const from = [own, ...groups].find((one) => topic.startsWith(`${one}/cmd/`)) ?? own;
      const method = topic.slice(`${from}/cmd/`.length);
      const refused = !caller.take()
        ? ({ limit: "mqttCommandsPerSecondMax", why: "too many commands: wait a second" } as const)
        : message.payload.length > mqttCommandBytesMax
          ? ({ limit: "mqttCommandBytesMax", why: `params may have ${mqttCommandBytesMax} bytes` } as const)
          : undefined;
      if (refused === undefined)
        return void run(from, method, message).catch((error) => log.error("mqtt", messageOf(error)));
      drop(method, refused.why);
      const responseTopic = replyTopicOf(message.responseTopic, from, own);
      if (responseTopic !== undefined) {
        const { limit, why } = refused;
        void answer(responseTopic, refusalAt(limit, why), message.correlationData);
      }
    },
  };
}

function tooLong(): string {
  return refusalAt("messageBytesMax", "the answer is too long: ask for less");
}

/**
 * The topic of the answer: the one that the command asked for, with this device in the place of a group. Undefined if none
 * was asked for, or one that is not below `reply/` of the device or group `from`, which got the command.
 */
function replyTopicOf(asked: string | undefined, from: string, own: string): string | undefined {
  if (asked === undefined || !asked.startsWith(`${from}/reply/`) || /[+#\0]/.test(asked)) return undefined;
  return `${own}${asked.slice(from.length)}`;
}

/** The payload is parsed first, so it cannot bring members of its own. */
function requestOf(method: string, payload: Uint8Array): string {
  const text = new TextDecoder().decode(payload);
  const head = { jsonrpc: "2.0", id: null, method };
  if (text.trim() === "") return JSON.stringify(head);
  const params = parseJson(text);
  return params === undefined ? text : JSON.stringify({ ...head, params });
}

function refusalAt(limit: keyof typeof limits, message: string): string {
  const error = { code: rpcCodes.busy, message, data: { reason: "busy", limit } };
  return JSON.stringify({ jsonrpc: "2.0", id: null, error });
}
