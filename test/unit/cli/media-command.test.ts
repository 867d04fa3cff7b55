import { expect, test } from "bun:test";
import { progressLine } from "../../../src/cli/media-command.ts";

const running = { exists: true, indexing: true, optimizing: false };

test("the bar of a run shows the steps that are over, and no number before one is known", () => {
  const step = { ...running, currentStep: 1, totalSteps: 2, currentStepDisplay: "Sega Genesis" };
  expect(progressLine({ ...step, totalFiles: 0 }, true)).toBe("[........................] Sega Genesis");
  expect(progressLine({ ...step, totalFiles: 12 }, false)).toBe("Sega Genesis, 12 files so far");
  expect(progressLine({ ...step, optimizing: true, currentStep: 2, totalFiles: 12 }, true)).toBe(
    "[############............] almost done, 12 files",
  );
  expect(progressLine(running, false)).toBe("looking for folders");
});

test("index showed the files of all systems as those of the system that it named", () => {
  const step = { ...running, currentStep: 2, totalSteps: 3, currentStepDisplay: "Image", totalFiles: 3 };
  expect(progressLine(step, false)).toBe("Image, 3 files so far");
});
