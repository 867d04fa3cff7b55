/**
 * Makes the calls of the table with one library, and prints a line of JSON for each. Arguments: the address of the service
 * and the file of the table.
 */
import { readFileSync } from "node:fs";

export const url = process.argv[2];
const table = JSON.parse(readFileSync(process.argv[3], "utf8"));

/** The notifications that a driver asks its library for. */
export const notifications = new Set(table.flatMap(({ hears = [] }) => hears.map(({ method }) => method)));

const ids = [];
const came = [];
const heard = [];
let wake = () => {};

/** The library takes the id of its next request from this function. */
export const nextId = () => ids.shift();

/** Takes each message in the order on the line, and returns it as JSON; undefined for the text `pong`. */
export function read(data) {
  const text = data.toString();
  const message = text === "pong" ? undefined : JSON.parse(text);
  came.push(...(Array.isArray(message) ? message : [message ?? { method: "pong" }]));
  wake();
  return message;
}

/** Takes a notification from the library. */
export function hear(method, params) {
  heard.push({ method, params });
  wake();
}

/** Sends the heartbeat by `send`, and resolves with its answer. */
export async function ping(send) {
  const from = came.length;
  send("ping");
  await until(() => came.slice(from).some(({ method }) => method === "pong"));
  return "pong";
}

/**
 * `call(method, params)` and `call.batch(requests)` resolve with whole answers, `{ result }` or `{ error }`. A library
 * without batches has no `batch`, and the requests of a batch are sent one by one. `hears` is false for a connection
 * without notifications.
 */
export async function makeCalls({ call, notify, batch, ping, hears = true }) {
  let id = 100;
  for (const { call: name, send, isBatch, hears: awaited = [] } of table) {
    const [cameFrom, heardFrom] = [came.length, heard.length];
    const requests = send === "ping" ? [] : send.map((one) => ({ ...one, id: one.id ?? id++ }));
    const all = isBatch && batch !== undefined ? inOneBatch(batch) : oneByOne(call, notify);
    const answers = send === "ping" ? [await ping()] : await all(requests);
    const isHeard = ({ method }) => heard.slice(heardFrom).some((one) => one.method === method);
    if (hears) await until(() => awaited.every(isHeard));
    const order = came
      .slice(cameFrom)
      .map((one) => one.method ?? requests.findIndex((request) => request.id === one.id));
    const line = { call: name, answers, order, heard: heard.slice(heardFrom) };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}

const inOneBatch = (batch) => async (requests) => {
  const answers = await batch(
    requests.map(({ method, params, id, isNotification }) => ({
      jsonrpc: "2.0",
      method,
      params,
      ...(isNotification ? {} : { id }),
    })),
  );
  return requests.map((request) => bare(answers.find(({ id }) => id === request.id)));
};

const oneByOne = (call, notify) => async (requests) => {
  const answers = [];
  for (const { method, params, id, after, isNotification } of requests) {
    if (after !== undefined) await answers[after];
    if (!isNotification) ids.push(id);
    answers.push(isNotification ? notify(method, params) : call(method, params));
  }
  return (await Promise.all(answers)).map(bare);
};

/** An answer without its envelope; null for none. */
function bare(answer) {
  if (answer === undefined) return null;
  return answer.error === undefined ? { result: answer.result } : { error: answer.error };
}

async function until(holds) {
  while (!holds())
    await new Promise((resolve) => {
      wake = resolve;
    });
}
