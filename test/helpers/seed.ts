/**
 * Loaded before every test file: random inputs are the same ones in each run, so that a run tells of the change that was
 * made. `SEED=N make test` tries others.
 */
import fc from "fast-check";

const asked = process.env.SEED;
const seed = asked === undefined || asked === "" ? 1 : Number(asked);
if (!Number.isSafeInteger(seed)) throw new Error(`SEED is "${asked}": give a whole number`);
fc.configureGlobal({ seed });
