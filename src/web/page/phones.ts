/** The card of phones, on the device itself: pairs them by a QR code or a short code, and revokes them. */
import { encode } from "uqr";
import type { Client } from "../../client/client.ts";
import { pairingLink } from "../../core/pairing-link.ts";
import { ago } from "../../core/text.ts";
import { button, el, listCard, named, note, openDialog } from "./dom.ts";

export function phonesCard(client: Client) {
  const name = el("input", {
    placeholder: "Whose phone is it?",
    "aria-label": "Whose phone is it?",
    maxlength: "255",
  });
  const role = el(
    "select",
    { "aria-label": "What may it do?" },
    el("option", { value: "member" }, "Member: plays, cards and settings"),
    el("option", { value: "player" }, "Player: plays only"),
  );
  const chosenRole = () => (role.value === "player" ? "player" : "member");
  const byLink = button("Pair a phone", () => pairByLink(), { class: "main" });
  const byCode = button("Show a short code", () => pairByCode());
  const bar = el("div", { class: "bar" }, byLink, byCode);
  const { card, show } = listCard("Phones", "No phone is paired yet.", name, role, bar);

  const refresh = async () => {
    const { clients } = await client.call("clients");
    const rows = clients.map(({ id, name, role, added, lastUsed, address }) => {
      const label = name || `Phone ${id.slice(0, 8)}`;
      const used =
        lastUsed === undefined ? "not used yet" : `last used ${ago(lastUsed, Date.now())} at ${address}`;
      const revoke = async () => {
        await client.call("clients.delete", { id });
        note(`${label} can no longer connect.`);
        await refresh();
      };
      const facts = [role, `paired ${ago(added, Date.now())}`, used].join(" · ");
      return el(
        "li",
        {},
        el("div", { class: "what" }, ...named(label, facts)),
        button("Revoke", revoke, { "aria-label": `Revoke ${label}` }),
      );
    });
    show(rows);
  };
  const pairByLink = async () => {
    const { hosts, port } = await client.call("pairing");
    const [host] = hosts;
    if (host === undefined)
      throw new Error("No network that a phone could be on: see api.listen in the settings.");
    const asked = { name: name.value.trim(), role: chosenRole(), link: true } as const;
    const made = await client.call("clients.new", asked);
    const link = pairingLink(`http://${host}:${port}`, made) ?? "";
    name.value = "";
    await refresh();
    const dialog = openDialog(
      "Pair a phone",
      "Done",
      qrCode(link),
      el(
        "p",
        {},
        "Point the phone's camera at it within ten minutes. Anybody with this link can use the device: make one for each phone.",
      ),
      el("p", { class: "link" }, link),
    );
    await dialog.closed;
    await refresh();
  };
  const pairByCode = async () => {
    const { code, expires } = await client.call("pairing.open", { role: chosenRole() });
    const { hosts, port } = await client.call("pairing");
    const until = new Date(expires).toLocaleTimeString([], { timeStyle: "short" });
    const dialog = openDialog(
      "Pair by a code",
      "Cancel",
      el("p", {}, `Open http://${hosts[0] ?? location.hostname}:${port} on the phone, and type:`),
      el("p", { class: "code" }, `${code.slice(0, 3)} ${code.slice(3)}`),
      el("p", { class: "quiet" }, `Good until ${until}, for three tries.`),
    );
    // The pairing may have ended already; then there is nothing to cancel.
    void dialog.closed.then(() => client.call("pairing.cancel").catch(() => {}));
    const { reason } = await client.call("pairing.wait");
    dialog.close();
    if (reason === "paired") note("The phone is paired.");
    if (reason === "tries") note("Three wrong codes: somebody may be guessing. Open it again to go on.");
    await refresh();
  };
  return { card, refresh };
}

const quietModules = 4; // ISO/IEC 18004: the border that a reader needs.

function qrCode(text: string): SVGSVGElement {
  const { data, size } = encode(text, { ecc: "L", border: quietModules });
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  const facts = { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img" };
  for (const [name, value] of Object.entries({ ...facts, "aria-label": "QR code of the pairing link" }))
    svg.setAttribute(name, value);
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
  path.setAttribute("d", squares.join(""));
  svg.append(path);
  return svg;
}
