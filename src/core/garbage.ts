/** Collects garbage in time after large texts. */

const collectEachBytes = 4 * 1024 * 1024;

/**
 * Counts the bytes of texts that were made, and has the runtime collect garbage after each 4 MiB. The runtime alone
 * counts large texts too late: a flood of messages of 1 MB took 60 MB more, and a backup with long lines 80 MB.
 */
export function createCollector(collect: () => void = () => setImmediate(Bun.gc, false)) {
  let bytes = 0;
  return (more: number): void => {
    bytes += more;
    if (bytes < collectEachBytes) return;
    bytes = 0;
    collect();
  };
}
