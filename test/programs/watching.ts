/** Watches a media folder: `watching FOLDER` prints the id of each system that it would index, or `all`. Run in a namespace. */
import { openInotify } from "../../drivers/io/inotify.ts";
import { silentLog } from "../../src/core/log.ts";
import { watchMedia } from "../../src/media/scan/watch-folders.ts";

const [root = ""] = process.argv.slice(2);
const print = (line: string) => void process.stdout.write(`${line}\n`);
watchMedia({
  media: {
    async index(systems) {
      (systems.length === 0 ? ["all"] : systems).forEach(print);
    },
  },
  folders: { roots: [root], own: [] },
  log: { ...silentLog, warn: (_, text) => print(`warning: ${text}`) },
  open: openInotify,
});
