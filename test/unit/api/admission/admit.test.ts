/** The grant of a caller that has come in, while the settings change and while they do not. */
import { expect, test } from "bun:test";
import type { AccessRules } from "../../../../src/api/admission/access.ts";
import { createAdmission } from "../../../../src/api/admission/admit.ts";
import { createFailedAttempts } from "../../../../src/api/admission/rate-limits.ts";
import type { Visit } from "../../../../src/api/http.ts";
import { silentAudit } from "../../../../src/core/audit.ts";
import { silentLog } from "../../../../src/core/log.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

/** A visitor of the socket's file, and how often the rules were applied to it. */
function visitor(): {
  visit: Visit;
  judged: () => number;
  change: (allowedHosts: readonly string[]) => void;
} {
  let judged = 0;
  const rulesOf = (allowedHosts: readonly string[]): AccessRules => ({
    get allowedHosts() {
      judged += 1;
      return allowedHosts;
    },
    allowedOrigins: [],
    allowAnonymousLocal: false,
    anonymous: "play",
    allowV1Clients: false,
  });
  let rules = rulesOf(["cards.home"]);
  const clock = createManualClock();
  const visits: Visit[] = [];
  const { byPath } = createAdmission<unknown>({
    clock,
    log: silentLog,
    rules: () => rules,
    ownAddresses: () => [],
    audit: silentAudit,
    uid: 1000,
    ownerOf: async () => undefined,
    bearer: () => undefined,
    failures: createFailedAttempts(clock),
    onTurnedAway: () => false,
    answer(visit) {
      visits.push(visit);
      return undefined;
    },
  });
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  byPath(new Request("http://cards.home/", { headers: { host: "cards.home" } }), server);
  const visit = visits[0];
  if (visit === undefined) throw new Error("the visitor was turned away");
  return {
    visit,
    judged: () => judged,
    change(allowedHosts) {
      rules = rulesOf(allowedHosts);
    },
  };
}

// Each request of a connection asks for its grant: 2.4 us of processor time for each one, where the rules are applied again.
test("a caller is judged once, and not at each request, while the settings stay", () => {
  const { visit, judged } = visitor();
  const before = judged();
  expect(before).toBeGreaterThan(0);
  for (let request = 0; request < 100; request++) expect(visit.grant()).toBe("own");
  expect(judged()).toBe(before);
});

test("a caller has no right any more once the settings would not let it in", () => {
  const { visit, judged, change } = visitor();
  const before = judged();
  change([]);
  expect(visit.grant()).toBe("none");
  expect(judged()).toBeGreaterThan(before);
  change(["cards.home"]);
  expect(visit.grant()).toBe("own");
});
