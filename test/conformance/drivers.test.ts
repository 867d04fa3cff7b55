/** Every driver of drivers/index.ts, held to the contract of src/readers/driver.ts. */
import { expect, test } from "bun:test";
import { drivers } from "../../drivers/index.ts";
import { emulatedReaders } from "../emulators/index.ts";
import { testDriver } from "./driver.ts";

test("every driver has an emulated device, and an id of its own", () => {
  const ids = drivers.map(({ id }) => id);
  expect(ids.filter((id) => emulatedReaders[id] === undefined)).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([]);
});

for (const driver of drivers) {
  const create = emulatedReaders[driver.id];
  if (create !== undefined) testDriver(driver, create);
}
