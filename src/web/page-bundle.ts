/**
 * Makes the device's page out of `page/`, while the program is built: this is called as a macro, and what it returns stands in
 * the binary. Files are packed here, so that the service never spends a tap's time on it.
 *
 * The script comes in two parts, so that libsodium (five sixths of it) is loaded where there is something to seal only. Names
 * hold a hash of the content, all but the page's own.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** By its path: the content in gzip and base64, and how often it may change. */
export type Bundle = Readonly<Record<string, { readonly type: string; readonly gzip: string }>>;

const types: Readonly<Record<string, string>> = {
  js: "text/javascript",
  css: "text/css",
  html: "text/html",
  svg: "image/svg+xml",
};

export function bundlePage(): Bundle {
  const folder = join(import.meta.dir, "page");
  const out = mkdtempSync(join(tmpdir(), "tapdeck-page-"));
  try {
    // A process of its own: a build inside of a build would wait for itself.
    const command = ["build", join(folder, "index.html"), "--target=browser", "--splitting", "--minify"];
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...command, `--outdir=${out}`]);
    if (exitCode !== 0) throw new Error(`the page could not be bundled: ${stderr.toString()}`);
    return Object.fromEntries(
      readdirSync(out).map((name) => {
        const type = types[name.split(".").at(-1) ?? ""];
        if (type === undefined) throw new Error(`the page has a file of an unknown kind: ${name}`);
        const gzip = Buffer.from(Bun.gzipSync(readFileSync(join(out, name)), { level: 9 })).toString(
          "base64",
        );
        return [name === "index.html" ? "/" : `/${name}`, { type: `${type}; charset=utf-8`, gzip }];
      }),
    );
  } finally {
    rmSync(out, { recursive: true });
  }
}
