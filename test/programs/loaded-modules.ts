/** Starts the service with the given data folder, stops it, and prints the paths of the modules that it has loaded. */
import {
  drivers,
  localSockets,
  openButtons,
  openCec,
  openInotify,
  openMenuKeys,
} from "../../drivers/index.ts";
import { startService } from "../../src/compose.ts";
import { placesOf } from "../../src/system/folders.ts";

const [folder = ""] = process.argv.slice(2);
const begun = Promise.withResolvers<void>();
const service = await startService({
  places: placesOf({ data: folder }, process.env),
  drivers,
  openInput: () => {
    throw new Error("no keys are pressed here");
  },
  watchFolders: openInotify,
  localSockets,
  openTelevision: openCec,
  openButtons,
  openMenuKeys,
  releaseCode: async () => 0,
  overrides: {},
  restart() {},
  write(line) {
    if (line.includes("mqtt:")) begun.resolve();
  },
});
// With a broker in the settings, the first failure of the connection follows. Without one, nothing follows.
if ((await Bun.file(`${folder}/config.toml`).text()).includes("[mqtt]")) await begun.promise;
await service.close();
process.stdout.write(JSON.stringify(Object.keys(require.cache)));
process.exit(0);
