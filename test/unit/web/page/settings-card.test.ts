/** The method by which the page changes each setting. */
import { expect, test } from "bun:test";
import { playTimeLimits } from "../../../../src/api/schemas.ts";
import { describeSettings } from "../../../../src/config/settings-table.ts";
import { isLimit } from "../../../../src/web/page/settings-card.ts";

test("a new limit of play time was sent to settings.update, which does not know it", () => {
  const named = describeSettings().flatMap(({ key, api }) => (api === undefined ? [] : [{ key, name: api }]));
  const limits = named.filter(isLimit).map(({ name }) => name);
  expect(limits.toSorted()).toEqual(Object.keys(playTimeLimits).toSorted());
});
