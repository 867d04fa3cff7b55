/** Pairing that a card asks for: by a code that stands on the device's own screen, as a link that a phone's camera reads. */
import { ServiceError } from "../core/errors.ts";
import { codeLink } from "../core/pairing-link.ts";
import type { Pairing } from "./pairing-service.ts";
import type { Screen } from "./screen.ts";

export interface PairOnScreenParts {
  readonly pairing: Pairing;
  /** Undefined while the service starts. */
  readonly screen: () => Screen | undefined;
  /** Names and addresses by which others reach the device, the best first, and its port. */
  readonly place: () => Promise<{ readonly hosts: readonly string[]; readonly port: number }>;
}

/** Opens pairing and shows it until it has ended. Throws `failed` where nobody could see it, or come in. */
export async function pairOnScreen({ pairing, screen, place }: PairOnScreenParts): Promise<void> {
  const shown = screen();
  if (shown?.isThere !== true)
    throw new ServiceError("failed", "there is no screen to show a code on: tapdeck pair does it elsewhere");
  const { hosts, port } = await place();
  const [host] = hosts;
  if (host === undefined)
    throw new ServiceError("failed", "the device is in no network yet, so no phone finds it");
  const { code } = await pairing.open("member");
  const base = `http://${host}:${port}`;
  shown.showPairing({ link: codeLink(base, code), base, code });
  void pairing.wait().finally(() => shown.showPairing(undefined));
}
