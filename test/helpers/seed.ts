/**
 * This file is loaded before every test file. Random inputs are the same in each run, so a failure has its cause in the
 * code. `SEED=N make test` tries other inputs.
 */
import fc from "fast-check";

const asked = process.env.SEED;
const seed = asked === undefined || asked === "" ? 1 : Number(asked);
if (!Number.isSafeInteger(seed)) throw new Error(`SEED is "${asked}": give a whole number`);
fc.configureGlobal({ seed });

// `bun test --parallel` sets it in each worker, and programs of the tests must not inherit it. The compiled program
// restarts itself without variables of this prefix (src/system/clean-start.ts).
delete process.env.BUN_TEST_WORKER_ID;
