/** Addresses that the kernel is told to refuse: a flooding one, for a while, and nobody else. */
import { expect, test } from "bun:test";
import { createKernelRefusals } from "../../../../src/api/admission/overload-guard.ts";
import {
  refusedInKernelMax,
  refusedInKernelMs,
  turnedAwayBeforeRefusalMax,
} from "../../../../src/core/limits.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const most = turnedAwayBeforeRefusalMax;

function makeFlooders(takes = true) {
  const clock = createManualClock();
  const told: (readonly string[])[] = [];
  const flooders = createKernelRefusals(clock, (addresses) => {
    told.push(addresses);
    return takes;
  });
  const flood = (address: string, times = most) =>
    Array.from({ length: times }, () => flooders.note(address)).at(-1);
  return { clock, told, flooders, flood };
}

test("an address that goes on is refused for a while, and one that asks now and then is not", () => {
  const { clock, told, flood } = makeFlooders();
  expect(flood("a", most - 1)).toBe(false);
  clock.advance(1000);
  expect(flood("a", most - 1)).toBe(false);
  expect(told).toEqual([]);
  expect(flood("a", 1)).toBe(true);
  expect(flood("b")).toBe(true);
  expect(told).toEqual([["a"], ["a", "b"]]);
  clock.advance(refusedInKernelMs);
  expect(told.at(-1)).toEqual([]);
});

test("what comes around the kernel's refusal, or in its place, is counted for the gate", () => {
  const { clock, flood } = makeFlooders();
  expect(flood("a", most + 5)).toBe(true);
  clock.advance(1000);
  expect(flood("a", 1)).toBe(false);
  expect(makeFlooders(false).flood("a")).toBe(false);
});

test("no more addresses are refused than the kernel can be told, and a new socket is told of them", () => {
  const { told, flooders, flood } = makeFlooders();
  const addresses = Array.from({ length: refusedInKernelMax + 1 }, (_, nth) => `10.0.0.${nth}`);
  expect(addresses.map((address) => flood(address)).filter(Boolean).length).toBe(refusedInKernelMax);
  expect(told.at(-1)).toEqual(addresses.slice(0, refusedInKernelMax));
  const count = told.length;
  flooders.apply();
  expect(told.slice(count)).toEqual([addresses.slice(0, refusedInKernelMax)]);
});
