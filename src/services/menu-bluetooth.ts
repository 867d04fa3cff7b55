/**
 * Bluetooth in the menu of the television: the known devices, those of a search, and the code that a person must type on
 * a keyboard.
 */
import type { FoundDevice, KnownDevice } from "../core/bluetooth-shapes.ts";
import { type Clock, sleep } from "../core/clock.ts";
import { filled } from "../core/text.ts";
import type { MenuTexts } from "../screen/texts.ts";
import type { Bluetooth } from "./bluetooth.ts";
import { type MenuItem, type MenuList, menuSymbols } from "./menu-items.ts";

export type MenuBluetooth = Pick<Bluetooth, "forget" | "pair" | "report" | "search">;

interface BluetoothParts {
  readonly bluetooth: MenuBluetooth;
  readonly clock: Pick<Clock, "after" | "now">;
  readonly texts: () => MenuTexts;
}

const pollMs = 500;
/** The script reports the beginning of an act at once. */
const beginMsMax = 5000;
/** The longest search, with the start of all programs, and the longest pairing, whose parts end after 65 s. */
const endMsMax = 75_000;

export function bluetoothList({ bluetooth, clock, texts }: BluetoothParts): MenuList {
  const until = async (holds: () => boolean, msMax: number) => {
    // The clock of a board may be set meanwhile, so the pauses count the time.
    for (let ms = 0; !holds() && ms < msMax; ms += pollMs)
      await sleep(clock, pollMs, new AbortController().signal);
  };
  /** Waits for the beginning of a requested act. */
  const begun = (state: "searching" | "pairing") =>
    until(() => bluetooth.report().state === state, beginMsMax);

  const list = (title = texts().bluetooth): MenuList => {
    const words = texts();
    const { known, found } = bluetooth.report();
    return {
      title,
      items: [
        ...known.map(
          (device): MenuItem => ({
            name: device.connected ? filled(words.isConnected, { device: device.name }) : device.name,
            symbol: menuSymbols.bluetooth,
            choose: () => choices(device),
          }),
        ),
        ...found.map(
          (device): MenuItem => ({
            name: filled(words.pair, { device: device.name }),
            symbol: menuSymbols.bluetooth,
            choose: () => pairing(device),
          }),
        ),
        { name: words.search, symbol: menuSymbols.search, choose: searching },
      ],
    };
  };
  const choices = (device: KnownDevice): MenuList => ({
    title: device.name,
    items: [
      { name: texts().keep, symbol: menuSymbols.done, choose: () => ({ ...list(), replaces: true }) },
      {
        name: texts().forget,
        symbol: menuSymbols.erase,
        async choose() {
          await bluetooth.forget(device);
          await until(
            () => !bluetooth.report().known.some(({ address }) => address === device.address),
            beginMsMax,
          );
          return { ...list(), replaces: true };
        },
      },
    ],
  });
  const searching = (): MenuList => ({
    title: texts().bluetooth,
    note: texts().pressPairing,
    items: [],
    replaces: true,
    async follow() {
      const before = new Set(bluetooth.report().found.map(({ address }) => address));
      await bluetooth.search();
      await begun("searching");
      // The search continues while the list is shown, and a pairing ends it.
      await until(() => {
        const { state, found } = bluetooth.report();
        // Keyboards of neighbours advertise all the time.
        const isNew = ({ address, kind }: FoundDevice) =>
          (kind === "controller" || kind === "sound") && !before.has(address);
        return state !== "searching" || found.some(isNew);
      }, endMsMax);
      return { ...list(faultNow()), replaces: true };
    },
  });
  const pairing = (device: FoundDevice): MenuList => waiting(device, undefined, () => bluetooth.pair(device));
  const waiting = (
    device: FoundDevice,
    code: string | undefined,
    ask: () => Promise<void> | void,
  ): MenuList => ({
    title: texts().bluetooth,
    note:
      code === undefined
        ? filled(texts().pairing, { device: device.name })
        : filled(texts().typeCode, { device: device.name, code }),
    items: [],
    replaces: true,
    async follow() {
      await ask();
      await begun("pairing");
      await until(() => {
        const now = bluetooth.report();
        return now.state !== "pairing" || now.code !== code;
      }, endMsMax);
      const now = bluetooth.report();
      if (now.state === "pairing" && now.code !== code) return waiting(device, now.code, () => {});
      return { ...list(faultNow()), replaces: true };
    },
  });
  const faultNow = () => {
    const { fault } = bluetooth.report();
    return fault && texts().bluetoothFaults[fault];
  };
  return list();
}
