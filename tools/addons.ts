/**
 * Native addons in the compiled binary. `node-hid` looks for its addon by a path of the machine that compiled it, and would find it
 * on no other machine. A plugin replaces this search by a plain `require` of the target's addon, which the bundler embeds.
 */
import { join } from "node:path";
import type { BunPlugin } from "bun";

/** Embeds the addon of `node-hid` that reads hidraw nodes. */
export function hidAddon(root: string, target: "x64" | "arm64"): BunPlugin {
  const addon = join(root, `node_modules/node-hid/prebuilds/HID_hidraw-linux-${target}/node-napi-v4.node`);
  return {
    name: "node-hid's addon",
    setup(build) {
      build.onResolve({ filter: /^pkg-prebuilds\/bindings$/ }, () => ({
        path: "addon",
        namespace: "node-hid",
      }));
      build.onLoad({ filter: /^addon$/, namespace: "node-hid" }, () => ({
        contents: `module.exports = () => require(${JSON.stringify(addon)});`,
        loader: "js",
      }));
    },
  };
}

/** Embeds the addon of `usb` from its package's folder, because `node_modules` has only the addon of this processor. */
export function usbAddon(name: string, folder: string): BunPlugin {
  return {
    name: "the addon of usb",
    setup(build) {
      build.onResolve({ filter: /^@node-usb\// }, ({ path }) =>
        path === name ? { path: Bun.resolveSync(folder, import.meta.dir) } : undefined,
      );
    },
  };
}
