/** How much is done in one turn of the event loop: what decides how long everybody else waits, whatever the machine. */

/** Runs `work`, and tells how often it called `count` at most between two turns. */
export async function mostInOneTurn(work: (count: () => void) => Promise<void>): Promise<number> {
  let [now, most, isOver] = [0, 0, false];
  const turn = () => {
    now = 0;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await work(() => {
      most = Math.max(most, ++now);
    });
  } finally {
    isOver = true;
  }
  return most;
}
