/** A run of the index as a program, for a service that runs from its sources. */
import { runIndexJob } from "./index-job.ts";

process.exitCode = await runIndexJob();
