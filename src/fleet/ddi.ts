/**
 * The answers of hawkBit's Direct Device Integration API, version 1 (hawkBit documentation, "DDI API"), with the fields
 * that a deck reads.
 */
import * as v from "valibot";
import { updateBootBytesMax, updateRootBytesMax } from "../core/console-limits.ts";

const link = v.object({ href: v.pipe(v.string(), v.maxLength(2048), v.url()) });
const actionId = v.pipe(v.union([v.string(), v.number()]), v.transform(String), v.regex(/^\d{1,19}$/));
const handling = v.picklist(["skip", "attempt", "forced"]);

/** The answer to a poll: the actions that wait for the deck. `_links` is absent if there are none. */
const poll = v.object({
  config: v.object({ polling: v.object({ sleep: v.pipe(v.string(), v.regex(/^\d{2}:[0-5]\d:[0-5]\d$/)) }) }),
  _links: v.optional(
    v.object({
      deploymentBase: v.optional(link),
      cancelAction: v.optional(link),
      configData: v.optional(link),
    }),
    {},
  ),
});

const artifact = v.object({
  filename: v.string(),
  hashes: v.object({ sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)) }),
  size: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(updateBootBytesMax + updateRootBytesMax)),
  _links: v.object({ download: v.optional(link), "download-http": v.optional(link) }),
});

const deployment = v.object({
  id: actionId,
  deployment: v.object({
    download: handling,
    update: handling,
    chunks: v.pipe(
      v.array(
        v.object({
          name: v.string(),
          version: v.string(),
          artifacts: v.pipe(v.array(artifact), v.maxLength(64)),
        }),
      ),
      v.maxLength(64),
    ),
  }),
});

const cancel = v.object({ cancelAction: v.object({ stopId: actionId }) });

export type Handling = v.InferOutput<typeof handling>;

export interface Poll {
  /** The pause that the server asks for. */
  readonly sleepMs: number;
  /** The addresses of three kinds of requests; absent if the server has none of that kind. */
  readonly deployment?: string;
  readonly cancel?: string;
  readonly attributes?: string;
}

export interface Deployment {
  readonly id: string;
  readonly download: Handling;
  readonly update: Handling;
  readonly version: string;
  readonly url: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Throws an error with a sentence if the answer has another shape. */
export function readPoll(value: unknown): Poll {
  const { config, _links } = parsed(poll, value, "a poll");
  const [hours = 0, minutes = 0, seconds = 0] = config.polling.sleep.split(":").map(Number);
  const { deploymentBase, cancelAction, configData } = _links;
  return {
    sleepMs: ((hours * 60 + minutes) * 60 + seconds) * 1000,
    ...(deploymentBase && { deployment: deploymentBase.href }),
    ...(cancelAction && { cancel: cancelAction.href }),
    ...(configData && { attributes: configData.href }),
  };
}

/**
 * The deployment, or its action and a sentence if this device cannot install it. If there are several artifacts, the
 * artifact of the software module `tapdeck-<board>` is used.
 */
export function readDeployment(
  value: unknown,
  board: string,
): Deployment | { readonly id: string; readonly fault: string } {
  const { id, deployment: one } = parsed(deployment, value, "a deployment");
  const all = one.chunks.flatMap(({ name, version, artifacts }) =>
    artifacts.map((each) => ({ ...each, name, version })),
  );
  const own = all.length === 1 ? all : all.filter(({ name }) => name === `tapdeck-${board}`);
  const [found] = own;
  if (found === undefined || own.length > 1)
    return { id, fault: `it has ${all.length} artifacts, and not one for the board ${board || "unknown"}` };
  const url = (found._links.download ?? found._links["download-http"])?.href;
  if (url === undefined) return { id, fault: `${found.filename} has no address` };
  const { download, update } = one;
  const { version, size: bytes, hashes } = found;
  return { id, download, update, version, url, bytes, sha256: hashes.sha256 };
}

/** The id of the action that the server cancels. */
export function readCancel(value: unknown): string {
  return parsed(cancel, value, "a cancellation").cancelAction.stopId;
}

const detailCharsMax = 500; // hawkBit keeps 512 characters of a message.

export type Feedback = "proceeding" | "downloaded" | "rejected" | "success" | "failure";

/** The content of a feedback; `success` and `failure` close the action. */
export function feedbackOf(kind: Feedback, detail: string): object {
  const isEnd = kind === "success" || kind === "failure";
  return {
    status: {
      execution: isEnd ? "closed" : kind,
      result: { finished: isEnd ? kind : "none" },
      details: [detail.slice(0, detailCharsMax)],
    },
  };
}

function parsed<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  name: string,
): v.InferOutput<Schema> {
  const { success, output, issues } = v.safeParse(schema, value);
  if (success) return output;
  const [{ message }] = issues;
  throw new Error(`hawkBit sent ${name} of another form: ${v.getDotPath(issues[0]) ?? ""} ${message}`);
}
