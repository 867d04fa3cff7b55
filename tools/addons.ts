/**
 * Native addons in the compiled binary. `node-hid` looks for its addon by a path of the machine that compiled it, and
 * would find it on no other machine. The runtime would unpack an addon to a folder that players can change. Plugins
 * therefore embed each addon as a plain file. A module replaces the addon, and loads it from the service's own folder
 * (src/system/addon-folder.ts).
 *
 * The binary holds the paths of its modules. The paths here do not depend on the machine that compiles, so two builds have
 * the same bytes in any folder.
 */
import { join } from "node:path";
import type { BunPlugin, PluginBuilder } from "bun";

// Bun 1.4.5 takes two modules of one path for the same one, even in different namespaces, so each has a name of its own
// below.

/** Embeds the addon of `node-hid` that reads hidraw nodes. */
export function hidAddon(root: string, target: "x64" | "arm64"): BunPlugin {
  const addon = join(root, `node_modules/node-hid/prebuilds/HID_hidraw-linux-${target}/node-napi-v4.node`);
  return {
    name: "node-hid's addon",
    setup(build) {
      build.onResolve({ filter: /^pkg-prebuilds\/bindings$/ }, () => ({
        path: "hid-addon",
        namespace: "node-hid",
      }));
      build.onLoad({ filter: /^hid-addon$/, namespace: "node-hid" }, () => ({
        contents: `${loading("node-hid")}\nmodule.exports = load;`,
        loader: "js",
      }));
      // The folder of the package, in which it would search for the addon.
      build.onLoad({ filter: /node_modules\/node-hid\/nodehid\.js$/ }, async ({ path }) => ({
        contents: (await Bun.file(path).text()).replaceAll("__dirname", '"node-hid"'),
        loader: "js",
      }));
      embedFile(build, "node-hid", addon);
    },
  };
}

/** Embeds the addon of `usb` from its package's folder, because `node_modules` has only the addon of this processor. */
export function usbAddon(name: string, folder: string): BunPlugin {
  return {
    name: "the addon of usb",
    setup(build) {
      build.onResolve({ filter: /^@node-usb\// }, ({ path }) =>
        path === name ? { path: "usb-addon", namespace: "usb" } : undefined,
      );
      // The addon is loaded when the property is first read, so a failed load can be repeated.
      build.onLoad({ filter: /^usb-addon$/, namespace: "usb" }, () => ({
        contents: `${loading("usb")}
Object.defineProperty(exports, "nativeGetDevices", { enumerable: true, get: () => load().nativeGetDevices });`,
        loader: "js",
      }));
      embedFile(build, "usb", Bun.resolveSync(folder, import.meta.dir));
    },
  };
}

const addonFolder = join(import.meta.dir, "../src/system/addon-folder.ts");

/** The lines of a module that define `load`, which returns the exports of the addon. */
function loading(name: string): string {
  return `const file = require("${name}-file");
const { loadAddon } = require(${JSON.stringify(addonFolder)});
let loaded;
const load = () => (loaded ??= loadAddon(file.default ?? file));`;
}

/** Embeds a file: `NAME-file` is the name of the import, and the path of its module is its path in the binary. */
function embedFile(build: PluginBuilder, name: string, file: string): void {
  const namespace = `${name}-file`;
  build.onResolve({ filter: new RegExp(`^${namespace}$`) }, () => ({ path: `${name}.node`, namespace }));
  build.onLoad({ filter: /./, namespace }, async () => ({
    contents: await Bun.file(file).bytes(),
    loader: "file",
  }));
}
