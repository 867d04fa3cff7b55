/**
 * Players that do harm beyond their end: to the next start of the service, to its memory, or by the files that they leave
 * for it.
 */
import { expect, test } from "bun:test";
import { readFile, stat } from "node:fs/promises";
import { eventually } from "../helpers/processes.ts";
import { makeServedPlace, reported, shellLauncher } from "../helpers/served-place.ts";

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

/** Arguments: the files and folders whose permissions it takes, those in a folder first, and the media file. */
const closer = `
for file; do :; done
for path; do [ "$path" = "$file" ] || chmod 0 "$path" || true; done
echo done >"$(dirname "$file")/report"`;

test("the service has access to its own files at the next start, although a player took their permissions", async () => {
  await using served = await makeServedPlace();
  const { at, put, place } = served;
  const key = await put("data/tapdeck/tls/owner-key.pem", "x", 0o400);
  const [config, mapping] = [
    at("data/config/tapdeck/config.toml"),
    at("data/config/tapdeck/mappings/mine.toml"),
  ];
  await put("data/config/tapdeck/mappings/mine.toml", "");
  const file = await place.file("close/Game.close");
  const files = ["data/tapdeck/tapdeck.db", "data/tapdeck/tls", "data/tapdeck", "run/tapdeck"];
  await served.config(shellLauncher("close", closer, key, mapping, config, ...files.map(at)));
  {
    await using service = await served.start();
    await reported(service, file);
    expect(await modeOf(config)).toBe("0");
  }
  await using service = await served.start();
  for (const path of [key, mapping, config]) expect(await modeOf(path)).toBe("400");
  const modes = await Promise.all(files.map((path) => modeOf(at(path))));
  expect(modes).toEqual(["600", "700", "700", "700"]);
  // The log arrives over another pipe than the answers.
  await eventually(() =>
    expect(service.log()).toContain(`the service had no access to its own file until now file=${config}`),
  );
});

/**
 * Arguments: files of the service's process below /proc, and the media file. Reports each file that it can open to write.
 */
const writer = `
for file; do :; done
for name in oom_score_adj autogroup coredump_filter clear_refs timerslack_ns comm; do
  ( : >>"/proc/$PPID/$name" ) 2>/dev/null && echo "$name"
done >"$(dirname "$file")/found"
mv "$(dirname "$file")/found" "$(dirname "$file")/report"`;

test("a player neither makes the service the first to be killed without memory, nor slows it by /proc", async () => {
  await using served = await makeServedPlace();
  await served.config(shellLauncher("write", writer));
  const file = await served.place.file("write/Game.write");
  await using service = await served.start();
  expect(await reported(service, file)).toEqual([]);
  expect((await readFile(`/proc/${service.pid}/oom_score_adj`, "utf8")).trim()).toBe(
    (await readFile("/proc/self/oom_score_adj", "utf8")).trim(),
  );
});
