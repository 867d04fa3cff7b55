/**
 * Web requests and programs of scripts. A pattern of the owner, `script.allow_http` or `script.allow_execute` in the config
 * file, must match the whole address or command line.
 */
import type { Config } from "../../config/shape.ts";
import { failed, ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { portOf } from "../../system/http-exchange.ts";
import { runProgram } from "../../system/program.ts";
import { createWebClient, type Resolve } from "../../system/web-request.ts";
import { createPatterns } from "../rules/allow-patterns.ts";

interface OutsideParts {
  readonly config: () => Config;
  readonly log: Log;
  /** Resolves host names; the system's resolver if absent. */
  readonly resolve?: Resolve;
}

export function createOutside({ config, log, resolve }: OutsideParts) {
  const patterns = createPatterns();
  const matching = (listed: readonly string[], text: string) =>
    listed.filter((pattern) => patterns.test(pattern, text));
  const ownPorts = () => [config().api.port, config().api.tlsPort];
  const web = createWebClient({
    ...(resolve === undefined ? {} : { resolve }),
    listed: (url) => matching(config().script.allowHttp, url.href),
    how: "add a pattern for the whole address to script.allow_http in the config file",
    entry: "a pattern of script.allow_http",
    ownPorts,
  });
  const streams = createWebClient({
    ...(resolve === undefined ? {} : { resolve }),
    listed: (url) => config().script.allowStream.filter((host) => isHost(host, url)),
    how: "add its host to script.allow_stream in the config file",
    entry: "a host of script.allow_stream",
    ownPorts,
  });
  return {
    request: web.request,
    /** Opens a stream of a listed host; the caller reads or closes its body. */
    openStream: streams.open,
    async execute(argv: readonly string[], signal: AbortSignal): Promise<void> {
      const line = commandLine(argv);
      if (matching(config().script.allowExecute, line).length === 0)
        throw new ServiceError(
          "forbidden",
          `cards may not run ${argv[0]} like this: add a pattern for the whole command line to script.allow_execute in the config file`,
        );
      const { exitCode, output } = await runProgram(argv, signal);
      log.debug("script", "a program ended", { program: argv[0], exitCode: exitCode ?? "signal", output });
      if (exitCode === 0) return;
      const last = output.trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
      const how = exitCode === null ? "was ended by a signal" : `ended with code ${exitCode}`;
      throw failed(`${argv[0]} ${how}${last === "" ? "" : `: ${last}`}`);
    },
  };
}

/** True if the entry of `script.allow_stream`, with or without a port, is the host of the URL or a name above it. */
function isHost(entry: string, url: URL): boolean {
  const name = url.hostname.replace(/\.$/, "");
  if (entry.startsWith("*.")) return name.endsWith(entry.slice(1));
  return entry === name || entry === `${name}:${portOf(url)}`;
}

/** The command line that patterns match: words between single spaces; a word that is empty or holds spaces or quotes is in JSON. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}
