/** The card of Bluetooth on the SD image: the devices that were paired, those of a search, and the code for a keyboard. */
import type { Calls } from "../../client/client.ts";
import { filled } from "../../core/text.ts";
import { button, el, named, openDialog, replaceKeepingFocus, section } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Facts = Calls["bluetooth"]["result"];
type Known = Facts["known"][number];
type Found = Facts["found"][number];

/** The same in all languages. */
const ownName = "Bluetooth";

const againMs = 1000;
/** A search has the start of all programs before it, and a pairing ends after 65 s. */
const looksMax = 75;

export function bluetoothCard({ client }: Shared): PageCard {
  const texts = say.bluetooth;
  const state = el("p", { class: "quiet", role: "status" });
  const known = el("ul", { class: "rows" });
  const found = el("ul", { class: "rows" });
  /** Counts the acts; only the latest one is followed. */
  let acts = 0;
  /** The devices of the last report that had any. A device that was not paired leaves the list. */
  const names = new Map<string, string>();

  // After the last known device Bluetooth goes off, some time after the device has left the list.
  const forget = (device: Known) => {
    const sure = button(
      texts.forget,
      async () => {
        await client.call("bluetooth.forget", { address: device.address });
        dialog.close();
        await follow(
          (now) =>
            now.known.every(({ address }) => address !== device.address) &&
            (now.known.length > 0 || now.state === "off"),
        );
      },
      { class: "main wide" },
    );
    const dialog = openDialog(
      filled(texts.forgetOf, { device: device.name }),
      say.cancel,
      el("p", {}, texts.pairAgain),
      sure,
    );
  };
  const knownRow = (device: Known) =>
    el(
      "li",
      {},
      ...named(
        device.name,
        `${texts.kinds[device.kind]}, ${device.connected ? texts.connected : texts.away}`,
      ),
      button(texts.forget, async () => forget(device), {
        class: "letter",
        "aria-label": `${texts.forget}: ${device.name}`,
      }),
    );
  const pair = async ({ address }: Found) => {
    await client.call("bluetooth.pair", { address });
    await follow(({ state }) => state !== "pairing", "pairing");
  };
  const foundRow = (device: Found) =>
    el(
      "li",
      {},
      ...named(device.name, texts.kinds[device.kind]),
      button(texts.pair, () => pair(device), {
        class: "letter",
        "aria-label": `${texts.pair}: ${device.name}`,
      }),
    );
  const show = (now: Facts) => {
    for (const { address, name } of [...now.known, ...now.found]) names.set(address, name);
    card.hidden = now.state === "none";
    state.textContent = stateOf(now, names.get(now.address ?? "") ?? "");
    state.classList.toggle("bad", now.fault !== undefined);
    replaceKeepingFocus(known, now.known.map(knownRow));
    replaceKeepingFocus(found, now.found.map(foundRow));
  };
  const refresh = async () => {
    const now = await client.call("bluetooth");
    show(now);
    return now;
  };
  /** Shows the progress of an act: the act must begin first, and is over once `isOver` returns true. */
  const follow = async (isOver: (now: Facts) => boolean, begins?: Facts["state"]) => {
    const act = ++acts;
    let hasBegun = begins === undefined;
    for (let looks = 0; looks < looksMax && act === acts; looks++) {
      const now = await refresh();
      hasBegun ||= now.state === begins;
      if (hasBegun && isOver(now)) return;
      await new Promise((done) => setTimeout(done, againMs));
    }
  };
  const search = button(
    texts.search,
    async () => {
      await client.call("bluetooth.search");
      // Other controls of the page can be chosen meanwhile.
      void follow((now) => now.state !== "searching", "searching").catch(() => {});
    },
    { class: "main" },
  );
  const card = section(ownName, state, known, found, el("div", { class: "bar" }, search));
  card.hidden = true;
  return { card, refresh };
}

function stateOf({ state, fault, code, known }: Facts, device: string): string {
  const texts = say.bluetooth;
  if (state === "searching") return texts.searching;
  if (state === "pairing")
    return code === undefined ? filled(texts.pairing, { device }) : filled(texts.typeCode, { device, code });
  if (fault !== undefined) return filled(texts.faults[fault], { device });
  if (state === "off") return texts.off;
  return known.length === 0 ? texts.noDevices : texts.ready;
}
