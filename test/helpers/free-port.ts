const given = new Set<number>();

/**
 * A port on which nobody listens. Each port is returned once. It is below the ports that the kernel gives to connections
 * (32768 and up), because a connection might take such a port first.
 */
export function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (given.has(port)) continue;
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      given.add(port);
      return port;
    } catch {
      // The port is taken, for example by a service of another test.
    }
  }
}
