/**
 * A walk through folders from inside a player: the files that it can read, change and make in them, as lines for a
 * transcript. A folder with the same reach everywhere is one line.
 *
 *   rw+ /data/tapdeck/media/   its files can be read and changed, and files can be made in it
 *   r-  /etc/hosts             it can be read
 *   ---                        no file can be read or changed, and none can be made in a folder; their names are no secret
 *
 * Sockets are left out, because a file system does not open them. Links are left out, because they count as their targets.
 */

/**
 * The script of the walk for a shell, also for that of BusyBox. Its arguments are folders, followed by the media file.
 * The result is the file `report` beside the media file.
 */
export const walker = `
for file; do :; done
here=$(dirname "$file")
exec 2>/dev/null
for place; do
  [ "$place" = "$file" ] && break
  find "$place" | while IFS= read -r path; do
    [ "\${path#"$here"}" = "$path" ] || continue
    if [ -L "$path" ] || [ -S "$path" ]; then continue; fi
    if [ -d "$path" ]; then
      if mkdir "$path/.walk"; then rmdir "$path/.walk"; echo "folder + $path"; else echo "folder - $path"; fi
      continue
    fi
    r=- w=-
    if [ -p "$path" ]; then
      # Neither waits for the other end.
      if ( true <>"$path" ); then r=r w=w; fi
    else
      if ( true <"$path" ); then r=r; fi
      if ( true >>"$path" ); then w=w; fi
    fi
    echo "file $r$w $path"
  done
done >"$here/found"
mv "$here/found" "$here/report"
`;

interface Node {
  readonly path: string;
  /** The reach of a file, `rw`, `r-` and so on; or of a folder, with `+` or `-` added. */
  reach: string;
  readonly isFolder: boolean;
  readonly entries: Node[];
}

/** The lines of a transcript for the report of a walk. `named` returns the path to show, or undefined to leave it out. */
export function walked(
  report: readonly string[],
  named: (path: string) => string | undefined,
): readonly string[] {
  const nodes = new Map<string, Node>();
  const roots: Node[] = [];
  const entries = report.flatMap((line) => {
    const [, kind, reach = "", path = ""] = /^(file|folder) (\S+) (.*)$/.exec(line) ?? [];
    const shown = kind === undefined ? undefined : named(path);
    return shown === undefined ? [] : [{ path: shown, reach, isFolder: kind === "folder" }];
  });
  for (const { path, reach, isFolder } of entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    // Files of one kind may share a name in the transcript, which shows the widest reach.
    const known = nodes.get(path);
    if (known !== undefined && known.reach >= reach) continue;
    if (known !== undefined) known.reach = reach;
    const node = known ?? { path, reach, isFolder, entries: [] };
    if (known === undefined) {
      nodes.set(path, node);
      (nodes.get(path.slice(0, path.lastIndexOf("/")))?.entries ?? roots).push(node);
    }
  }
  return roots.flatMap(linesOf);
}

function linesOf(node: Node): readonly string[] {
  if (!node.isFolder) return [`${node.reach}  ${node.path}`];
  const inside = node.entries.flatMap(everything);
  const files = new Set(inside.filter((one) => !one.isFolder).map(({ reach }) => reach));
  const folders = new Set([node, ...inside.filter((one) => one.isFolder)].map(({ reach }) => reach));
  if (files.size <= 1 && folders.size === 1) {
    const [reach = node.reach === "+" ? "rw" : "--"] = files;
    return [`${reach}${node.reach} ${node.path}/`];
  }
  return [...(node.reach === "+" ? [`  + ${node.path}/`] : []), ...node.entries.flatMap(linesOf)];
}

function everything(node: Node): readonly Node[] {
  return [node, ...node.entries.flatMap(everything)];
}
