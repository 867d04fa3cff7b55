/**
 * A port on which nobody listens. Each port is returned once. It is below the ports that the kernel gives to connections
 * (32768 and up), because a connection might take such a port first.
 */
export function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      // Two processes run tests at the same time, and a service has no socket before its start or during a restart. This
      // process keeps a name in the kernel until its end (unix(7), "Abstract sockets").
      const claim = Bun.listen({ unix: `\0tapdeck-test-port-${port}`, socket: { data() {} } });
      claim.unref();
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // The port was given before, or somebody listens on it.
    }
  }
}
