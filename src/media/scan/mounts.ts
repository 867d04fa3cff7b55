/**
 * What is mounted where (proc_pid_mountinfo(5)): a drive that is plugged in below a watched folder is no change in that
 * folder.
 */

/** The mount points strictly below the folder, absolute and without links; `mountinfo` is the kernel's list. */
export function mountsBelow(mountinfo: string, folder: string): readonly string[] {
  const start = folder.endsWith("/") ? folder : `${folder}/`;
  return mountinfo
    .split("\n")
    .map((line) => unescaped(line.split(" ")[4] ?? ""))
    .filter((place) => place.startsWith(start) && place !== start);
}

/** Spaces, tabs, line feeds and backslashes are written as three octal digits. */
function unescaped(place: string): string {
  return place.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
