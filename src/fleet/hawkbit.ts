/**
 * The client of a hawkBit server. An action is closed with success only after the trial of the new system, a healthy
 * minute. It is closed with failure if that system was not kept. The server sets the pace; a server that does not answer
 * changes nothing. Loaded only if `fleet.hawkbit_url` is set.
 */
import { rfc3339, sleep } from "../core/clock.ts";
import { hawkbitPausesMs, hawkbitSleepMsMax, hawkbitSleepMsMin } from "../core/console-limits.ts";
import type { LatestVersion, UpdateServer } from "../core/device-shapes.ts";
import { failed, messageOf } from "../core/errors.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import { backoffMs } from "./backoff.ts";
import { type Deployment, type Feedback, feedbackOf, readCancel, readDeployment, readPoll } from "./ddi.ts";
import type { Moment } from "./idleness.ts";
import {
  type Account,
  accountReader,
  getJson,
  StatusError,
  sendJson,
  withoutIdentity,
} from "./server-requests.ts";
import { nothingWaits, type UpdateSourceParts } from "./update-index.ts";

interface HawkbitParts extends UpdateSourceParts {
  /** The name of this device at the server. */
  readonly controllerId: string;
  /** Facts that filters of rollouts can name. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** The deployment that is being processed. */
interface Work {
  readonly id: string;
  /** The address of the deployment, which changes with its content. */
  readonly href: string;
  /** False if the server only lets it be fetched. */
  readonly installs: boolean;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

const tenant = "/DEFAULT";
const firstMsMax = 2000;
const steps = {
  fetching: "the update is fetched",
  waiting: "the update waits until nothing plays",
  installing: "the update is installed; then its trial begins",
} as const;

export function followHawkbit(parts: HawkbitParts) {
  const { settings, controllerId, board, job, clock, log, onLatest, random = Math.random } = parts;
  const server = new URL(settings.hawkbitUrl);
  const path = server.pathname === "/" ? tenant : server.pathname.replace(/\/+$/, "");
  const base = `${server.origin}${path}/controller/v1/${controllerId}`;
  const readAccount = accountReader(settings, parts.dataFolder, log);
  const ending = new AbortController();
  const inTurn = createSerialQueue();
  let work: Work | undefined;
  let hasAttributes = false;
  let checkedMs: number | undefined;
  /** Consecutive failures of polls, and of downloads and installations, and the last reason of each. */
  const failures = { polls: 0, works: 0 };
  const faults = { poll: "", work: "" };
  /** The pause after a failed download or installation. */
  let resting: Disposable | undefined;
  let latest: LatestVersion | undefined;
  /** A person wants the waiting update at once. */
  let isWanted = false;
  let wake = () => {};

  const requestOf = ({ token, tls }: Account, url: string) => {
    // The account belongs to this server only.
    const isOwn = URL.parse(url)?.origin === server.origin;
    const headers: Record<string, string> =
      token !== "" && isOwn ? { authorization: `TargetToken ${token}` } : {};
    const identity = isOwn ? tls : withoutIdentity(tls);
    return { url, setting: settings.hawkbitUrl, headers, tls: identity, signal: ending.signal };
  };
  const get = async (url: string) => getJson(requestOf(await readAccount(), url));
  const send = async (url: string, method: "POST" | "PUT", content: unknown) =>
    sendJson(requestOf(await readAccount(), url), method, content);
  const feedback = (id: string, kind: Feedback, detail: string) =>
    inTurn(() => send(`${base}/deploymentBase/${id}/feedback`, "POST", feedbackOf(kind, detail)));
  /** A message whose loss does no harm. */
  const mention = (id: string, kind: Feedback, detail: string) => {
    feedback(id, kind, detail).catch((error) => log.debug("fleet", `no feedback: ${messageOf(error)}`));
  };
  const showLatest = (now: LatestVersion | undefined) => {
    if (Bun.deepEquals(now, latest)) return;
    latest = now;
    isWanted = false;
    onLatest(now);
  };

  /** Reports the end of an action, again and again until the server has received it. */
  const report = async () => {
    const { id = "", outcome } = job.current() ?? {};
    if (outcome === undefined) return;
    const [, action] = /^hawkbit:(\d+)$/.exec(id) ?? [];
    const { isKept, sentence } = outcome;
    if (action !== undefined)
      await feedback(action, isKept ? "success" : "failure", sentence).catch((error) => {
        if (!isFinal(error)) throw error;
        log.warn("fleet", "hawkBit does not take the outcome", { action, why: messageOf(error) });
      });
    await job.forget();
    log.info("fleet", "an update has ended", { action: action ?? id, kept: isKept, sentence });
  };
  const isUnderWay = (action: string) => job.current()?.id === `hawkbit:${action}`;
  /** Ends the work. With `isUnwanted` it also deletes the fetched files. */
  const stopWork = async (why: string, isUnwanted: boolean) => {
    // An installation ends by itself, or by a restart of the machine.
    if (job.current() !== undefined) return;
    work?.stop.abort(new Error(why));
    await work?.done;
    if (work !== undefined && isUnwanted) await job.discard();
    work = undefined;
  };
  const cancel = async (href: string) => {
    const action = readCancel(await get(href));
    const answer = (kind: Feedback, detail: string) =>
      send(`${base}/cancelAction/${action}/feedback`, "POST", feedbackOf(kind, detail));
    if (!isUnderWay(action)) await stopWork("hawkBit has cancelled the update", true);
    // The installation may have begun meanwhile.
    if (isUnderWay(action)) return answer("rejected", "the update is being installed, or in its trial");
    showLatest(undefined);
    log.info("fleet", "hawkBit has cancelled an update", { action });
    return answer("success", "nothing was changed");
  };
  const consider = async (href: string) => {
    const [, action = ""] = /\/deploymentBase\/(\d+)/.exec(href) ?? [];
    if (resting !== undefined || (work?.id === action && work.href === href)) return;
    await stopWork("another update takes its place", false);
    if (job.current() !== undefined) return;
    const found = readDeployment(await get(href), board);
    if ("fault" in found) return feedback(found.id, "failure", found.fault);
    showLatest({ version: found.version });
    const stop = new AbortController();
    const moments = momentsOf(found, settings.interrupt);
    const installs = moments.install !== undefined;
    const soon = isWanted && installs ? ({ fetch: "now", install: "now" } as const) : moments;
    isWanted = false;
    work = { id: action, href, installs, stop, done: begin(found, soon, await readAccount(), stop.signal) };
  };
  const begin = async (
    found: Deployment,
    moments: ReturnType<typeof momentsOf>,
    account: Account,
    stopped: AbortSignal,
  ) => {
    const { id, url, bytes, sha256, version } = found;
    const { setting, headers, tls } = requestOf(account, url);
    try {
      const outcome = await job.run(
        {
          id: `hawkbit:${id}`,
          what: { url, setting, bytes, sha256, headers, tls },
          ...moments,
          onStep: (step) => mention(id, "proceeding", `${version}: ${steps[step]}`),
        },
        AbortSignal.any([ending.signal, stopped]),
      );
      if (outcome === undefined && moments.install === undefined)
        mention(id, "downloaded", `${version} is fetched`);
      failures.works = 0;
      faults.work = "";
      if (outcome !== undefined) wake();
    } catch (error) {
      if (ending.signal.aborted || stopped.aborted) return;
      failures.works += 1;
      faults.work = messageOf(error);
      log.warn("fleet", "the update is tried again later", { action: id, why: faults.work });
      work = undefined;
      resting = clock.after(backoffMs(failures.works, hawkbitPausesMs, random), () => {
        resting = undefined;
        wake();
      });
    }
  };

  const poll = async (): Promise<number> => {
    await report();
    const { sleepMs, ...links } = readPoll(await get(base));
    if (!hasAttributes || links.attributes !== undefined) {
      hasAttributes = true;
      // Updates do not need the attributes.
      await send(`${base}/configData`, "PUT", { mode: "merge", data: parts.attributes }).catch((error) =>
        log.warn("fleet", "hawkBit does not take the attributes", { why: messageOf(error) }),
      );
    }
    if (links.cancel !== undefined) await cancel(links.cancel);
    else if (links.deployment !== undefined) await consider(links.deployment);
    else {
      await stopWork("hawkBit has withdrawn the update", true);
      showLatest(undefined);
    }
    return Math.min(hawkbitSleepMsMax, Math.max(hawkbitSleepMsMin, sleepMs));
  };
  const pollAgain = async (): Promise<number> => {
    try {
      const sleepMs = await poll();
      checkedMs = clock.now();
      failures.polls = 0;
      faults.poll = "";
      // The poll is rather early than late, because the server misses devices that are late.
      return sleepMs * (0.8 + 0.2 * random());
    } catch (error) {
      failures.polls += 1;
      faults.poll = messageOf(error);
      if (!ending.signal.aborted) log.warn("fleet", "hawkBit is asked again later", { why: faults.poll });
      return backoffMs(failures.polls, hawkbitPausesMs, random);
    }
  };
  const follow = async () => {
    void settle();
    // The decks of a house all start when its power returns.
    await sleep(clock, firstMsMax * random(), ending.signal).catch(() => {});
    while (!ending.signal.aborted) {
      const woken = new AbortController();
      wake = () => woken.abort();
      const ms = await pollAgain();
      // Both signals end the pause.
      await sleep(clock, ms, AbortSignal.any([ending.signal, woken.signal])).catch(() => {});
    }
  };
  /** Waits for the end of an update that was in progress at the start. */
  const settle = async () => {
    if (job.current() === undefined) return;
    try {
      await job.settle(ending.signal);
      wake();
    } catch (error) {
      if (!ending.signal.aborted) log.error("fleet", messageOf(error));
    }
  };
  const following = follow();
  return {
    status: (): UpdateServer => ({
      server: `${server.origin}${path}`,
      ...(latest === undefined ? {} : { latest }),
      ...(checkedMs === undefined ? {} : { checked: rfc3339(checkedMs) }),
      ...(faults.poll === "" && faults.work === "" ? {} : { fault: faults.poll || faults.work }),
    }),
    /** Installs the update that waits, without waiting for its moment. */
    install(): void {
      if (latest === undefined) throw failed(nothingWaits);
      if (work?.installs === false) throw failed("hawkBit lets this device only fetch the update for now");
      if (job.hasten()) return;
      isWanted = true;
      resting?.[Symbol.dispose]();
      resting = undefined;
      wake();
    },
    async close(): Promise<void> {
      resting?.[Symbol.dispose]();
      ending.abort(new Error("the service ends"));
      await following;
    },
  };
}

/** The server has understood the request, and will never accept it: the action has ended on the server, or never existed. */
function isFinal(error: unknown): boolean {
  return error instanceof StatusError && [400, 404, 409, 410].includes(error.status);
}

/** `forced` may begin at once, and ends nothing that plays unless the owner allows it; `attempt` waits for a quiet moment. */
function momentsOf(
  { download, update }: Deployment,
  mayInterrupt: boolean,
): { readonly fetch: Moment; readonly install?: Moment } {
  const fetch = download === "forced" ? "now" : "quiet";
  if (update === "skip") return { fetch };
  return { fetch, install: update === "attempt" ? "quiet" : mayInterrupt ? "now" : "silent" };
}
