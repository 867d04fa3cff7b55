/** Who we are, for `version` and the command line. Plain semver: known clients switch features by it. */
import { version as packageVersion } from "../../package.json";

export const version: string = packageVersion;
export const platform = "linux";
