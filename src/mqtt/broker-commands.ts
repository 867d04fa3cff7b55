/**
 * Commands from the broker: `cmd/<method>` with the params of JSON-RPC. The answer goes to the response topic of the message,
 * with its correlation data (MQTT 5, 4.10).
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
  /** Its connection has ended. */
  end(): void;
}

interface CommandParts {
  readonly caller: (role: Role) => MqttCaller;
  readonly log: Log;
}

export function createCommands(
  { caller: callerOf, log }: CommandParts,
  { topic: own, role }: Broker,
  answer: (topic: string, text: string, correlationData: Buffer | undefined) => Promise<unknown>,
) {
  let caller: MqttCaller | undefined;
  const run = async (method: string, { payload, responseTopic, correlationData }: Message) => {
    // The answer must not become a message of another device, or a command.
    if (responseTopic !== undefined && !isReplyTopic(responseTopic, own))
      return log.warn("mqtt", "a command was ignored: its response topic must begin with", {
        method,
        topic: `${own}/reply/`,
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
      const method = topic.slice(`${own}/cmd/`.length);
      const refusal = !caller.take()
        ? refusalAt("mqttCommandsPerSecondMax", "too many commands: wait a second")
        : message.payload.length > mqttCommandBytesMax
          ? refusalAt("mqttCommandBytesMax", `params may have ${mqttCommandBytesMax} bytes`)
          : undefined;
      if (refusal === undefined)
        return void run(method, message).catch((error) => log.error("mqtt", messageOf(error)));
      const { responseTopic, correlationData } = message;
      if (responseTopic !== undefined && isReplyTopic(responseTopic, own))
        void answer(responseTopic, refusal, correlationData);
    },
  };
}

function tooLong(): string {
  return refusalAt("messageBytesMax", "the answer is too long: ask for less");
}

function isReplyTopic(topic: string, own: string): boolean {
  return topic.startsWith(`${own}/reply/`) && !/[+#\0]/.test(topic);
}

/** Parsed first, so that the payload cannot bring members of its own. */
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
