/**
 * Bundles the device's page from `page/` at build time: the function is called as a macro, and the binary holds its
 * result. Files are compressed here, so the service spends no time on it.
 *
 * The script has parts: the page, the cryptography of encrypted connections, and each language but English. Names hold a hash
 * of the content, except those of the page itself and its worker.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The files by path: the media type, and the content in gzip and base64. */
export type Bundle = Readonly<Record<string, { readonly type: string; readonly gzip: string }>>;

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  svg: "image/svg+xml; charset=utf-8",
  png: "image/png",
  webmanifest: "application/manifest+json",
};

export function bundlePage(): Bundle {
  const folder = join(import.meta.dir, "page");
  const out = mkdtempSync(join(tmpdir(), "tapdeck-page-"));
  try {
    const build = ["build", join(folder, "index.html"), "--target=browser", "--splitting", "--minify"];
    // The condition `page` selects the small cryptography (package.json, `imports`).
    run([...build, "--conditions=page", `--outdir=${out}`]);
    run([join(import.meta.dir, "page-icons.ts"), out]);
    run(["build", join(folder, "number-forms.ts"), "--target=browser", "--minify", `--outdir=${out}`]);
    return Object.fromEntries(
      readdirSync(out).map((name) => {
        const type = types[name.split(".").at(-1) ?? ""];
        if (type === undefined) throw new Error(`the page has a file of an unknown kind: ${name}`);
        const gzip = Buffer.from(
          Bun.gzipSync(readFileSync(join(out, name)), { library: "libdeflate", level: 12 }),
        ).toString("base64");
        return [name === "index.html" ? "/" : `/${name}`, { type, gzip }];
      }),
    );
  } finally {
    rmSync(out, { recursive: true });
  }
}

/** Runs a command. The build runs in a process of its own, because a build within a build would wait for itself. */
function run(command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...command]);
  if (exitCode !== 0) throw new Error(`the page could not be bundled: ${stderr.toString()}`);
}
