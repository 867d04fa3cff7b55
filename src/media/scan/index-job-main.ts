/** The jobs of the media as a program, for a service that runs from its sources. */
import { runIndexJob } from "./index-job.ts";
import { watchArgument } from "./indexer.ts";
import { runWatchJob } from "./watch-job.ts";

process.exitCode = process.argv[2] === watchArgument ? await runWatchJob() : runIndexJob();
