/**
 * What scripts do outside this device, as far as its owner allows it: patterns of the config file, each of which must
 * match the whole address or command line (decisions, "The config file", `script.*`).
 */
import type { Config } from "../../config/shape.ts";
import { ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { ScriptPorts } from "../../script/command.ts";
import { runProgram } from "../../system/program.ts";
import { createWebClient, type Resolve } from "../../system/web-request.ts";
import { createPatterns } from "../patterns.ts";

export interface OutsideParts {
  readonly config: () => Config;
  readonly log: Log;
  /** The addresses of a host name; the system's resolver where absent. */
  readonly resolve?: Resolve;
}

export function createOutside({
  config,
  log,
  resolve,
}: OutsideParts): Pick<ScriptPorts, "request" | "execute"> {
  const patterns = createPatterns();
  const matching = (listed: readonly string[], text: string) =>
    listed.filter((pattern) => patterns.test(pattern, text));
  const web = createWebClient({
    ...(resolve === undefined ? {} : { resolve }),
    listed: (url) => matching(config().script.allowHttp, url),
    ownPorts: () => [config().api.port, config().api.tlsPort],
  });
  return {
    request: (request, signal) => web.request(request, signal),
    async execute(argv, signal) {
      const line = commandLine(argv);
      if (matching(config().script.allowExecute, line).length === 0) {
        throw new ServiceError(
          "forbidden",
          `cards may not run ${argv[0]} like this: add a pattern for the whole command line to script.allow_execute in the config file`,
        );
      }
      const { exitCode, output } = await runProgram(argv, signal);
      log.debug("script", "a program ended", { program: argv[0], exitCode: exitCode ?? "signal", output });
      if (exitCode === 0) return;
      const last = output.trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
      const how = exitCode === null ? "was ended by a signal" : `ended with code ${exitCode}`;
      throw new ServiceError("failed", `${argv[0]} ${how}${last === "" ? "" : `: ${last}`}`);
    },
  };
}

/** As patterns see it: words between single spaces; a word that is empty or holds spaces or quotes is written as in JSON. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}
