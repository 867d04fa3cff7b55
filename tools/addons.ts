/**
 * Native addons in the compiled binary. `node-hid` looks for its addon beside its own source, by a path of the machine that
 * compiled it, and so would find it nowhere else: here that look becomes a plain `require` of the target's addon, which the
 * bundler embeds.
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

/** Embeds the addon of `usb` out of its package's folder: that of another processor is in no `node_modules`. */
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
