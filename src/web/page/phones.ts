/** The card of phones, on the device itself: pairs them by a QR code or a short code, changes their roles, and revokes them. */
import { pairingLink } from "../../core/pairing-link.ts";
import { type Role, roles } from "../../core/rights.ts";
import { button, el, listCard, named, note, openDialog, telling } from "./dom.ts";
import { clockOf, sinceText } from "./local-forms.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

export function phonesCard({ client }: Shared): PageCard {
  const name = el("input", {
    placeholder: say.whose,
    "aria-label": say.whose,
    maxlength: "255",
  });
  const role = el(
    "select",
    { "aria-label": say.whatMay },
    el("option", { value: "member" }, say.member),
    el("option", { value: "player" }, say.player),
  );
  const chosenRole = () => (role.value === "player" ? "player" : "member");
  const byLink = button(say.pairPhone, () => pairByLink(), { class: "main" });
  const byCode = button(say.shortCode, () => pairByCode());
  const bar = el("div", { class: "bar" }, byLink, byCode);
  const { card, show } = listCard(say.phones, say.noPhones, name, role, bar);

  const roleOf = (id: string, label: string, role: Role) => {
    const options = roles.map((one) => el("option", { value: one }, say.roles[one]));
    const select = el("select", { "aria-label": say.roleOf(label), class: "letter" }, ...options);
    select.value = role;
    const change = async () => {
      const chosen = roles.find((one) => one === select.value) ?? role;
      await client.call("clients.update", { id, role: chosen }).finally(refresh);
      note(`${label}: ${say.roles[chosen]}`);
    };
    select.addEventListener("change", telling(change));
    return select;
  };
  const refresh = async () => {
    const { clients } = await client.call("clients");
    const rows = clients.map(({ id, name, secret, role, added, lastUsed, address }) => {
      const label = name || say.phoneOf(id.slice(0, 8));
      const used = lastUsed === undefined ? say.notUsed : say.lastUsed(sinceText(lastUsed), address);
      const revoke = async () => {
        await client.call("clients.delete", { id });
        note(say.revokedOf(label));
        await refresh();
      };
      // An app of the older kind, which has no secret here, is always a member.
      const facts = [secret === "" ? say.roles[role] : "", say.paired(sinceText(added)), used];
      return el(
        "li",
        {},
        el("div", { class: "what" }, ...named(label, facts.filter(Boolean).join(" · "))),
        secret === "" ? undefined : roleOf(id, label, role),
        button(say.revoke, revoke, { "aria-label": say.revokeOf(label) }),
      );
    });
    show(rows);
  };
  const pairByLink = async () => {
    const { hosts, port } = await client.call("pairing");
    const [host] = hosts;
    if (host === undefined) throw new Error(say.noNetwork);
    const asked = { name: name.value.trim(), role: chosenRole(), link: true } as const;
    const made = await client.call("clients.new", asked);
    // Only the device's own browser shows one, and only it loads the library.
    const { qrCode } = await import("./qr-code.ts");
    const link = pairingLink(`http://${host}:${port}`, made) ?? "";
    name.value = "";
    await refresh();
    const dialog = openDialog(
      say.pairPhone,
      say.done,
      qrCode(link, say.qrCode),
      el("p", {}, say.scanLink),
      el("p", { class: "link" }, link),
    );
    await dialog.closed;
    await refresh();
  };
  const pairByCode = async () => {
    const { code, expires } = await client.call("pairing.open", { role: chosenRole() });
    const { hosts, port } = await client.call("pairing");
    const dialog = openDialog(
      say.pairByCode,
      say.cancel,
      el("p", {}, say.openAndType(`http://${hosts[0] ?? location.hostname}:${port}`)),
      el("p", { class: "code" }, `${code.slice(0, 3)} ${code.slice(3)}`),
      el("p", { class: "quiet" }, say.goodUntil(clockOf(expires))),
    );
    // The pairing may have ended already; then there is nothing to cancel.
    void dialog.closed.then(() => client.call("pairing.cancel").catch(() => {}));
    const { reason } = await client.call("pairing.wait");
    dialog.close();
    if (reason === "paired") note(say.phonePaired);
    if (reason === "tries") note(say.threeWrong);
    await refresh();
  };
  return { card, refresh };
}
