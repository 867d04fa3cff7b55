/** Measures the work in one turn of the event loop. That work determines the wait of all other tasks on any machine. */

/** Runs `work`, and returns the largest number of calls of `count` between two turns. */
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
