/** A server of one file, with ETag and ranges (RFC 9110, 13 and 14), and with the faults of servers and networks. */
import { expect } from "bun:test";
import { stat } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { makeCertificate } from "../../src/system/certificate.ts";
import { eventually } from "./processes.ts";

export interface FileServer extends AsyncDisposable {
  readonly url: string;
  /** The header fields of each request. */
  readonly asked: readonly IncomingHttpHeaders[];
  /** Offers another file from now on. */
  offer(content: Buffer): void;
  /**
   * Ends the connection of the next answer after this many bytes of its body, once the client has stored some of them in
   * `file`.
   */
  cutAfter(bytes: number, file: string): void;
  /** Stops the next answer after this many bytes. Resolves when these bytes are sent. */
  hangAfter(bytes: number): Promise<void>;
  ignoreRanges(): void;
  /** From now on, answers with this status and without a body. */
  refuse(status: number): void;
  redirect(to: string): void;
}

/** A certificate that is its own authority, for `localhost`. */
export function certificateOf(commonName: string) {
  return makeCertificate({
    commonName,
    names: ["localhost"],
    addresses: [],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 90 * 24 * 3_600_000),
  });
}

/** Starts the server. With `tls` it has a certificate, and serves only clients with the certificate `clients`. */
export async function startFileServer(
  first: Buffer,
  tls?: { readonly cert: string; readonly key: string; readonly clients: string },
): Promise<FileServer> {
  const asked: IncomingHttpHeaders[] = [];
  let [content, version, hasRanges] = [first, 1, true];
  let answer: { readonly status: number; readonly location?: string } | undefined;
  let end: { readonly at: number; readonly done: () => void; readonly cutWhenIn?: string } | undefined;
  const serve: RequestListener = ({ headers }, response) => {
    asked.push(headers);
    if (answer !== undefined) {
      const { status, location } = answer;
      response.writeHead(status, location === undefined ? {} : { location }).end();
      return;
    }
    const tag = `"${version}"`;
    const [, from = ""] = /^bytes=(\d+)-$/.exec(headers.range ?? "") ?? [];
    const isPart = hasRanges && from !== "" && (headers["if-range"] ?? tag) === tag;
    if (isPart && Number(from) >= content.length) {
      response.writeHead(416, { "content-range": `bytes */${content.length}` }).end();
      return;
    }
    const body = isPart ? content.subarray(Number(from)) : content;
    const range = `bytes ${from}-${content.length - 1}/${content.length}`;
    response.writeHead(isPart ? 206 : 200, {
      etag: tag,
      "content-length": body.length,
      ...(isPart ? { "content-range": range } : {}),
    });
    const stop = end;
    end = undefined;
    if (stop === undefined) {
      response.end(body);
      return;
    }
    response.write(body.subarray(0, stop.at), async () => {
      stop.done();
      const { cutWhenIn: file } = stop;
      if (file === undefined) return;
      // Without this wait, the end of the connection may overtake the bytes.
      await eventually(async () => expect((await stat(file)).size).toBeGreaterThan(0)).finally(() =>
        response.destroy(),
      );
    });
  };
  const server =
    tls === undefined
      ? createServer(serve)
      : createTlsServer({ ...tls, ca: tls.clients, requestCert: true, rejectUnauthorized: true }, serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `${tls === undefined ? "http://127.0.0.1" : "https://localhost"}:${port}/update.bundle`,
    asked,
    offer(next) {
      content = next;
      version += 1;
    },
    cutAfter(at, file) {
      end = { at, cutWhenIn: file, done: () => {} };
    },
    hangAfter(at) {
      const { promise, resolve } = Promise.withResolvers<void>();
      end = { at, done: resolve };
      return promise;
    },
    ignoreRanges() {
      hasRanges = false;
    },
    refuse(status) {
      answer = { status };
    },
    redirect(location) {
      answer = { status: 302, location };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
