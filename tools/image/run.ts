/** Runs other programs for the image, and shows their output only after a failure. */

export interface RunOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Returns the standard output of the program. If it fails, throws with all its output. */
export async function run(
  command: readonly string[],
  { cwd, environment = {} }: RunOptions = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    // Programs that make file systems are outside the PATH of normal users.
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, ...environment },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, complained, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${said}${complained}`);
  return said;
}
