/** What the service refuses, as an error. */

/** The service refused: its code, its sentence, and `data.reason`. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The number of `secure-failure` (decisions, "Errors"): the client is not known here, or its secret is another. */
const secureFailureCode = -32003;

/** True where the device does not know these credentials: another try with them will not help. */
export function isStranger(error: unknown): boolean {
  return error instanceof RpcError && error.code === secureFailureCode;
}

/** A protocol error, which belongs to no request; undefined where the text is anything else. */
export function readProtocolError(text: string): RpcError | undefined {
  const message: unknown = JSON.parse(text);
  if (typeof message !== "object" || message === null || "id" in message || !("error" in message))
    return undefined;
  const { error } = message;
  if (typeof error !== "object" || error === null || !("code" in error) || !("message" in error))
    return undefined;
  return new RpcError(Number(error.code), String(error.message), "data" in error ? error.data : undefined);
}
