/** The card of the share for PCs on the SD image: its state, its places, and a field for a new password. */
import type { Calls } from "../../client/client.ts";
import { filled } from "../../core/text.ts";
import { button, el, openDialog, section } from "./dom.ts";
import { labelled } from "./mapping-editor.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Facts = Calls["share"]["result"];

const againMs = 1000;
const looksMax = 40; // A slow board takes half a minute to give up.

export function shareCard({ client }: Shared): PageCard {
  const texts = say.share;
  const state = el("p", { class: "quiet", role: "status" });
  const places = el("ul", { class: "rows" });
  const password = el("input", { type: "password", autocomplete: "new-password", maxlength: "63" });
  /** The number of acts. Only the latest act is followed. */
  let acts = 0;

  const show = (now: Facts) => {
    card.hidden = now.state === "none";
    state.textContent =
      now.fault === undefined ? texts[now.state === "none" ? "off" : now.state] : texts.fault;
    state.classList.toggle("bad", now.fault !== undefined);
    const paths = now.state === "on" && now.host !== undefined ? placesOf(now.host) : [];
    places.replaceChildren(...paths.map((path) => el("li", {}, path)));
    set.textContent = now.state === "on" ? texts.change : texts.switchOn;
    remove.hidden = now.state === "off" && now.fault === undefined;
  };
  const refresh = async () => {
    const now = await client.call("share");
    show(now);
    return now;
  };
  const follow = async (isOver: (now: Facts) => boolean) => {
    const act = ++acts;
    for (let looks = 0; looks < looksMax && act === acts; looks++) {
      await new Promise((done) => setTimeout(done, againMs));
      if (isOver(await refresh())) return;
    }
  };
  const set = button(
    texts.switchOn,
    async () => {
      await client.call("share.set", { password: password.value });
      password.value = "";
      state.textContent = texts.starting;
      await follow(({ state, fault }) => state === "on" || fault !== undefined);
    },
    { class: "main" },
  );
  const remove = button(texts.switchOff, async () => {
    const sure = button(
      texts.switchOff,
      async () => {
        await client.call("share.remove");
        dialog.close();
        await follow(({ state, fault }) => state === "off" && fault === undefined);
      },
      { class: "main wide" },
    );
    const dialog = openDialog(texts.offAsk, say.cancel, el("p", {}, texts.ends), sure);
  });
  const card = section(
    texts.title,
    state,
    places,
    labelled(texts.password, password),
    el("div", { class: "bar" }, set, remove),
  );
  card.hidden = true;
  return { card, refresh };
}

function placesOf(host: string): readonly string[] {
  return [
    filled(say.share.windows, { place: `\\\\${host}\\media` }),
    filled(say.share.others, { place: `smb://${host}.local/media` }),
  ];
}
