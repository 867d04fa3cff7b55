/** An HTTPS server for one file, as a web server offers shared cards: with an ETag, and with the faults of servers and networks. */
import { createServer } from "node:tls";
import { makeCertificate } from "../../src/system/certificate.ts";

export interface CardsServer extends Disposable {
  readonly url: string;
  /** The certificate of the server, which is its own authority. */
  readonly certificatePem: string;
  /** The lines of each request. */
  readonly asked: readonly (readonly string[])[];
  /** Offers another text from now on. With `sent` only that part of the text is sent, under the length of the whole text. */
  offer(text: string, sent?: string): void;
  /** Answers with this status and without a body. */
  refuse(status: number): void;
  redirect(to: string): void;
}

export async function startCardsServer(): Promise<CardsServer> {
  const { certificatePem, keyPem } = makeCertificate({
    commonName: "localhost",
    names: ["localhost"],
    addresses: [],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 90 * 24 * 3_600_000),
  });
  const asked: (readonly string[])[] = [];
  let answer = (_lines: readonly string[]) => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  const server = createServer({ cert: certificatePem, key: keyPem }, (socket) => {
    // The client may leave before the end.
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      // One write of the client holds its whole request.
      const lines = bytes.toString().split("\r\n");
      asked.push(lines);
      socket.end(answer(lines));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `https://localhost:${port}/all.cards`,
    certificatePem,
    asked,
    offer(text, sent = text) {
      const tag = `"${Bun.hash(text)}"`;
      const length = Buffer.byteLength(text);
      answer = (lines) =>
        lines.some((line) => line.toLowerCase() === `if-none-match: ${tag}`)
          ? `HTTP/1.1 304 Not Modified\r\nETag: ${tag}\r\nConnection: close\r\n\r\n`
          : `HTTP/1.1 200 OK\r\nETag: ${tag}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${sent}`;
    },
    refuse(status) {
      answer = () => `HTTP/1.1 ${status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    },
    redirect(to) {
      answer = () =>
        `HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    },
    [Symbol.dispose]: () => void server.close(),
  };
}
