/** From a payload to its answer: finds the method, runs it, and says what came of it. */
import { ServiceError } from "../core/errors.ts";
import { inFlightPerConnectionMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Connection } from "./connection.ts";
import { type Item, readEnvelope, refusalText, resultText } from "./envelope.ts";
import { methods } from "./methods/index.ts";
import type { Services } from "./services.ts";

export interface DispatchParts {
  readonly services: Services;
  readonly log: Log;
}

const byName = new Map(methods.map((method) => [method.name, method]));

/** Takes a payload of a caller on the device, and answers it on its connection. */
export function createDispatch({
  services,
  log,
}: DispatchParts): (connection: Connection, payload: string) => void {
  /** The answer's text; undefined where none is due. A promise only where the method takes its time. */
  const handle = (connection: Connection, item: Item): string | undefined | Promise<string | undefined> => {
    if (item.kind === "response") return undefined;
    if (item.kind === "refused") return item.answer;
    const { id, params } = item;
    const answer = (result: unknown) => (id === undefined ? undefined : resultText(id, result));
    const refuse = (error: unknown) => {
      if (!(error instanceof ServiceError)) {
        log.error("api", "internal error", {
          method: item.method,
          error: error instanceof Error ? error.stack : String(error),
        });
      }
      return id === undefined ? undefined : refusalText(id, error);
    };
    if (connection.inFlight >= inFlightPerConnectionMax) {
      return refuse(
        new ServiceError(
          "busy",
          `${inFlightPerConnectionMax} requests are in flight on this connection already`,
          {
            data: { limit: "inFlightPerConnectionMax" },
          },
        ),
      );
    }
    try {
      const result = find(item.method).call(services, params);
      if (!(result instanceof Promise)) return answer(result);
      connection.inFlight += 1;
      return result.then(answer, refuse).finally(() => {
        connection.inFlight -= 1;
      });
    } catch (error) {
      return refuse(error);
    }
  };

  return (connection, payload) => {
    const envelope = readEnvelope(payload);
    const isBatch = envelope.kind === "batch";
    const items = isBatch ? envelope.items : [envelope.item];
    connection.hold();
    const send = (answers: readonly (string | undefined)[]) => {
      const due = answers.filter((answer) => answer !== undefined);
      if (due.length > 0) connection.answer(isBatch ? `[${due.join(",")}]` : due.join());
      connection.release();
    };
    const answers = items.map((item) => handle(connection, item));
    const settled = answers.filter((answer): answer is string | undefined => !(answer instanceof Promise));
    if (settled.length === answers.length) send(settled);
    else void Promise.all(answers).then(send);
  };
}

function find(name: string) {
  const method = byName.get(name);
  if (method !== undefined) return method;
  throw new ServiceError(
    "method-not-found",
    `there is no method ${name.slice(0, 64)}${didYouMean(name, [...byName.keys()])}`,
  );
}
