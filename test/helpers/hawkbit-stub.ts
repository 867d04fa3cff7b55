/**
 * A hawkBit server for one target, as its DDI API is documented (hawkBit documentation, "DDI API"). It is stricter with
 * bad requests than a real one. A feedback counts only for an open action and in the right form. Links name only things
 * that exist.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as v from "valibot";
import { freePort } from "./free-port.ts";

const feedbackShape = v.strictObject({
  status: v.strictObject({
    execution: v.picklist([
      "closed",
      "proceeding",
      "canceled",
      "scheduled",
      "rejected",
      "resumed",
      "downloaded",
      "download",
    ]),
    result: v.strictObject({ finished: v.picklist(["success", "failure", "none"]) }),
    details: v.array(v.pipe(v.string(), v.maxLength(512))),
  }),
});
const attributesShape = v.strictObject({
  mode: v.picklist(["merge", "replace", "remove"]),
  data: v.record(v.pipe(v.string(), v.maxLength(128)), v.pipe(v.string(), v.maxLength(128))),
});

type Handling = "skip" | "attempt" | "forced";

export interface Wanted {
  readonly content: Buffer;
  readonly version?: string;
  readonly download?: Handling;
  readonly update?: Handling;
  /** A wrong hash. A test uses this to prove that the request is refused. */
  readonly sha256?: string;
}

export interface Action extends Required<Wanted> {
  readonly id: number;
  state: "open" | "canceling" | "canceled" | "success" | "failure";
  /** The texts `execution finished: detail` of each feedback. */
  readonly said: string[];
  /** The same texts for each feedback on a cancellation. */
  readonly saidOfCancel: string[];
  /** The field `Range` of each download; empty if it had none. */
  readonly downloads: string[];
}

export type HawkbitStub = Awaited<ReturnType<typeof startHawkbitStub>>;

export async function startHawkbitStub({ id, token }: { readonly id: string; readonly token: string }) {
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const base = `/DEFAULT/controller/v1/${id}`;
  const actions: Action[] = [];
  const refused: string[] = [];
  let attributes: Readonly<Record<string, string>> | undefined;
  let [polls, hangAt] = [0, Number.POSITIVE_INFINITY];
  let server: Server | undefined;

  const open = () => actions.find(({ state }) => state === "open" || state === "canceling");
  const poll = () => {
    polls += 1;
    const now = open();
    const links = {
      ...(now?.state === "open" && {
        deploymentBase: { href: `${origin}${base}/deploymentBase/${now.id}?c=${now.id}77` },
      }),
      ...(now?.state === "canceling" && {
        cancelAction: { href: `${origin}${base}/cancelAction/${now.id}` },
      }),
      ...(attributes === undefined && { configData: { href: `${origin}${base}/configData` } }),
    };
    const config = { polling: { sleep: "00:00:01" } };
    return Object.keys(links).length === 0 ? { config } : { config, _links: links };
  };
  const deployment = ({ id: action, content, version, download, update, sha256 }: Action) => ({
    id: String(action),
    deployment: {
      download,
      update,
      chunks: [
        {
          part: "os",
          version,
          name: "tapdeck-any",
          artifacts: [
            {
              filename: "x.bundle",
              hashes: { sha1: "", md5: "", sha256 },
              size: content.length,
              _links: { "download-http": { href: `${origin}${base}/softwaremodules/1/artifacts/${action}` } },
            },
          ],
        },
      ],
    },
  });
  const give = ({ content, downloads }: Action, request: IncomingMessage, response: ServerResponse) => {
    const { range = "" } = request.headers;
    downloads.push(range);
    const [, from = ""] = /^bytes=(\d+)-$/.exec(range) ?? [];
    const body = content.subarray(Number(from));
    response.writeHead(from === "" ? 200 : 206, {
      "content-length": body.length,
      ...(from === "" ? {} : { "content-range": `bytes ${from}-${content.length - 1}/${content.length}` }),
    });
    if (body.length > hangAt) response.write(body.subarray(0, hangAt));
    else response.end(body);
  };
  /** Takes a feedback, and returns the status of the answer. */
  const take = (action: Action, isOfCancel: boolean, text: string): number => {
    const read = v.safeParse(v.pipe(v.string(), v.parseJson(), feedbackShape), text);
    if (!read.success) return 400;
    if (action.state !== "open" && action.state !== "canceling") return 410;
    const { execution, result, details } = read.output.status;
    const said = `${execution} ${result.finished}: ${details.join(" ")}`;
    if (isOfCancel) {
      if (action.state !== "canceling") return 404;
      action.saidOfCancel.push(said);
      if (execution === "rejected") action.state = "open";
      if (execution === "closed") action.state = result.finished === "failure" ? "failure" : "canceled";
      return 200;
    }
    action.said.push(said);
    if (execution === "closed") {
      if (result.finished === "none") return 400;
      action.state = result.finished;
    }
    return 200;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "", headers } = request;
    const end = (status: number, value?: unknown) => {
      if (status >= 400) refused.push(`${status} ${method} ${url}`);
      response.writeHead(status, value === undefined ? {} : { "content-type": "application/hal+json" });
      response.end(value === undefined ? undefined : JSON.stringify(value));
    };
    if (headers.authorization !== `TargetToken ${token}`) return end(401);
    const { pathname } = new URL(url, origin);
    const [, kind = "", named = "", more = ""] =
      /^\/(deploymentBase|cancelAction|softwaremodules\/1\/artifacts)\/(\d+)(\/feedback)?$/.exec(
        pathname.slice(base.length),
      ) ?? [];
    if (!pathname.startsWith(base)) return end(404);
    if (pathname === base) return method === "GET" ? end(200, poll()) : end(405);
    if (pathname === `${base}/configData`) {
      if (method !== "PUT" || headers["content-type"] !== "application/json") return end(415);
      const read = v.safeParse(v.pipe(v.string(), v.parseJson(), attributesShape), await textOf(request));
      if (!read.success) return end(400);
      attributes = read.output.data;
      return end(200);
    }
    const action = actions.find((one) => one.id === Number(named));
    if (action === undefined) return end(404);
    if (kind.startsWith("softwaremodules")) return give(action, request, response);
    if (more !== "") {
      if (method !== "POST" || headers["content-type"] !== "application/json") return end(415);
      return end(take(action, kind === "cancelAction", await textOf(request)));
    }
    if (kind === "deploymentBase") return action.state === "open" ? end(200, deployment(action)) : end(404);
    if (action.state !== "canceling") return end(404);
    return end(200, { id: named, cancelAction: { stopId: named } });
  };
  const up = async () => {
    const next = createServer((request, response) => void answer(request, response));
    server = next;
    await new Promise<void>((resolve) => next.listen(port, "127.0.0.1", resolve));
  };
  const down = async () => {
    const last = server;
    server = undefined;
    last?.closeAllConnections();
    await new Promise<void>((resolve) => (last === undefined ? resolve() : last.close(() => resolve())));
  };
  await up();
  return {
    url: origin,
    up,
    down,
    /** The text `status method path` of each request that was refused. */
    refused,
    polls: () => polls,
    attributes: () => attributes,
    /** From now on, stops downloads after this many bytes. */
    hangAfter(bytes: number) {
      hangAt = bytes;
    },
    assign({ version = "0.9.0", download = "forced", update = "forced", content, ...rest }: Wanted): Action {
      const sha256 = rest.sha256 ?? createHash("sha256").update(content).digest("hex");
      const action: Action = {
        id: actions.length + 1,
        content,
        version,
        download,
        update,
        sha256,
        state: "open",
        said: [],
        saidOfCancel: [],
        downloads: [],
      };
      actions.push(action);
      return action;
    },
    cancel(action: Action) {
      action.state = "canceling";
    },
    [Symbol.asyncDispose]: down,
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
