/** Running other programs for the image: output kept until something goes wrong. */

export interface RunOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** What the program said on its standard output. Throws with everything that it said where it fails. */
export async function run(
  command: readonly string[],
  { cwd, environment = {} }: RunOptions = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    // Makers of file systems live where only root looks.
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
