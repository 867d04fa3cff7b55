/**
 * Batches: the limits of all answers together.
 * Covers: src/api/connection.ts.
 */
import { expect, test } from "bun:test";
import { createConnection } from "../../../src/api/connection.ts";
import { createDispatch } from "../../../src/api/dispatch.ts";
import type { Services } from "../../../src/api/services.ts";
import { batchAnswersCharsMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { silentAudit } from "../../helpers/defaults.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

test("a batch whose answers get too long is answered so far; the rest is not run, and must be sent again, except what has no answer", async () => {
  let asked = 0;
  const entry = { type: "", uid: "", text: "", data: "", success: true, time: "2026-01-01T00:00:00.000Z" };
  const history = () => {
    asked += 1;
    return { entries: [{ ...entry, text: "x".repeat(batchAnswersCharsMax / 2) }], nextCursor: undefined };
  };
  const dispatch = createDispatch({
    services: { history } as unknown as Services,
    log: silentLog,
    audit: silentAudit,
    clock: createManualClock(),
    quota: { take() {} },
  });
  const session = createConnection(
    { access: "device", grant: () => "own", from: { address: "127.0.0.1" } },
    () => {},
  );
  const request = { jsonrpc: "2.0", method: "tokens.history" };
  const batch = [...Array.from({ length: 99 }, (_, id) => ({ ...request, id })), request];
  const answers: unknown[] = JSON.parse((await dispatch(session, JSON.stringify(batch))) ?? "");
  // Three requests ran: two that got an answer, and the one without an id, which always runs.
  expect(asked).toBe(3);
  expect(answers).toHaveLength(99);
  expect(answers[1]).toMatchObject({ id: 1, result: { entries: [{ success: true }] } });
  expect(answers[2]).toMatchObject({
    id: 2,
    error: {
      message: expect.stringContaining("ask for the rest in another one"),
      data: { limit: "batchAnswersCharsMax" },
    },
  });
});
