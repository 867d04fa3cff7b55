/** The answers of hawkBit, as its documentation shows them, and others. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { feedbackOf, readCancel, readDeployment, readPoll } from "../../../src/fleet/ddi.ts";

const sha256 = "5a".repeat(32);
const href = "https://hawkbit.example/DEFAULT/controller/v1/hall-1";
const artifact = {
  filename: "x.bundle",
  hashes: { sha1: "a", md5: "b", sha256 },
  size: 81335110,
  _links: {
    "download-http": { href: `${href}/softwaremodules/1/artifacts/x.bundle` },
    "md5sum-http": { href },
  },
};
const chunk = (name: string) => ({ part: "os", version: "0.2.0", name, artifacts: [artifact] });
const deployment = (...chunks: readonly object[]) => ({
  id: "12",
  deployment: { download: "forced", update: "attempt", maintenanceWindow: "available", chunks },
});

test("a poll names what there is to do, and the pause", () => {
  const config = { polling: { sleep: "01:00:30" } };
  expect(readPoll({ config })).toEqual({ sleepMs: 3_630_000 });
  const _links = { deploymentBase: { href: `${href}/deploymentBase/1?c=4` }, configData: { href } };
  expect(readPoll({ config, _links })).toEqual({
    sleepMs: 3_630_000,
    deployment: `${href}/deploymentBase/1?c=4`,
    attributes: href,
  });
  expect(() => readPoll({ config: { polling: { sleep: "soon" } } })).toThrow(
    "hawkBit sent a poll of another form",
  );
});

test("of the artifacts of many boards, a deck takes its own", () => {
  const expected = {
    id: "12",
    download: "forced",
    update: "attempt",
    version: "0.2.0",
    bytes: 81335110,
    sha256,
    url: `${href}/softwaremodules/1/artifacts/x.bundle`,
  };
  expect(readDeployment(deployment(chunk("tapdeck-pi4"), chunk("tapdeck-pi3")), "pi4")).toMatchObject(
    expected,
  );
  expect(readDeployment(deployment(chunk("any name")), "pi4")).toMatchObject(expected);
  expect(readDeployment(deployment(chunk("tapdeck-pi4"), chunk("tapdeck-pi3")), "zero2w")).toEqual({
    id: "12",
    fault: "it has 2 artifacts, and not one for the board zero2w",
  });
  expect(readDeployment(deployment(), "")).toEqual({
    id: "12",
    fault: "it has 0 artifacts, and not one for the board unknown",
  });
});

test("a cancellation names the action to stop, and a feedback has the form of its kind", () => {
  expect(readCancel({ id: "13", cancelAction: { stopId: 12 } })).toBe("12");
  expect(() => readCancel({ id: "13", cancelAction: { stopId: "../1" } })).toThrow("a cancellation");
  expect(feedbackOf("success", "kept")).toEqual({
    status: { execution: "closed", result: { finished: "success" }, details: ["kept"] },
  });
  expect(feedbackOf("proceeding", "x")).toMatchObject({
    status: { execution: "proceeding", result: { finished: "none" } },
  });
});

test("an answer of any other form is an error with a sentence", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const read of [readPoll, readCancel, (one: unknown) => readDeployment(one, "pi4")])
        expect(() => read(value)).toThrow("hawkBit sent a");
    }),
  );
});
