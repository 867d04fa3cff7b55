/** What goes wrong with a CCID reader, as words for logs and for people. */
import { messageOf, ServiceError } from "../../src/core/errors.ts";
import { UsbFault } from "../io/usb-link.ts";

export function readerGone(path: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError("reader-gone", `${path}: ${why}`, cause === undefined ? {} : { cause });
}

/** For logs: what a transfer or a step ended with. */
export function outcomeOf(error: unknown): string {
  return error instanceof UsbFault ? `${error.kind}: ${error.message}` : messageOf(error);
}
