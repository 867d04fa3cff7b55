/**
 * The card of phones: pairs them by a short code, changes their names and roles, and revokes them. The device itself also pairs them
 * by a QR code, whose link holds a secret.
 */
import { pairingLink } from "../../core/pairing-link.ts";
import { type Role, roles } from "../../core/rights.ts";
import { button, el, listCard, named, note, openDialog, telling } from "./dom.ts";
import { clockOf, sinceText } from "./local-forms.ts";
import { PageFault, say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

export function phonesCard({ client, isPaired }: Shared): PageCard {
  const name = el("input", {
    placeholder: say.whose,
    "aria-label": say.whose,
    maxlength: "255",
  });
  const role = el(
    "select",
    { "aria-label": say.whatMay, class: "later" },
    el("option", { value: "member" }, say.member),
    el("option", { value: "player" }, say.player),
    el("option", { value: "owner" }, say.owner),
  );
  const chosenRole = () => roles.find((one) => one === role.value) ?? "member";
  const byLink = button(say.pairPhone, () => pairByLink(), { class: "main" });
  const byCode = button(say.shortCode, () => pairByCode(), isPaired ? { class: "main" } : {});
  const bar = el("div", { class: "bar" }, isPaired ? undefined : byLink, byCode);
  const { card, show } = listCard(
    say.phones,
    say.noPhones,
    el("h2", { class: "part" }, say.pairPhone),
    isPaired ? undefined : name,
    role,
    bar,
  );

  const roleOf = (id: string, label: string, role: Role) => {
    const options = roles.map((one) => el("option", { value: one }, say.roles[one]));
    const select = el("select", { "aria-label": say.roleOf(label), class: "letter" }, ...options);
    select.value = role;
    const change = async () => {
      const chosen = roles.find((one) => one === select.value) ?? role;
      await client.call("phones.update", { id, role: chosen }).finally(refresh);
      note(`${label}: ${say.roles[chosen]}`);
    };
    select.addEventListener("change", telling(change));
    return select;
  };
  const rename = async (id: string, label: string) => {
    const field = el("input", { "aria-label": say.newName, maxlength: "255", value: label });
    const save = button(
      say.cards.save,
      async () => {
        await client.call("phones.update", { id, name: field.value });
        dialog.close();
        await refresh();
      },
      { class: "main wide" },
    );
    const dialog = openDialog(say.renameOf(label), say.cancel, el("p", {}, field), save);
    field.select();
  };
  const revoke = async (id: string, label: string) => {
    const sure = button(
      say.revoke,
      async () => {
        const { undoMs } = await client.call("phones.delete", { id });
        dialog.close();
        const undo = button(say.cards.undo, async () => {
          await client.call("phones.restore", { id });
          await refresh();
        });
        if (undoMs > 0) note(say.revokedOf(label), undo, undoMs);
        else note(say.revokedOf(label));
        await refresh();
      },
      { class: "danger wide" },
    );
    const dialog = openDialog(say.revokeOf(label), say.cancel, el("p", {}, say.revokeSure(label)), sure);
  };
  const refresh = async () => {
    const { phones } = await client.call("phones");
    const rows = phones.map(({ id, name, role, added, lastUsed, isYou, byPin = false }) => {
      const label = name || say.phoneOf(id.slice(0, 8));
      const facts = [
        isYou === true ? say.thisPhone : "",
        byPin ? say.roles[role] : "",
        say.paired(sinceText(added)),
        lastUsed === undefined ? say.notUsed : say.lastUsed(sinceText(lastUsed)),
      ];
      const renaming = button(say.rename, () => rename(id, label), { "aria-label": say.renameOf(label) });
      return el(
        "li",
        { class: "wrap" },
        el("div", { class: "what" }, ...named(label, facts.filter(Boolean).join(" · "))),
        el(
          "div",
          { class: "bar" },
          byPin ? undefined : roleOf(id, label, role),
          byPin ? undefined : renaming,
          button(say.revoke, () => revoke(id, label), { "aria-label": say.revokeOf(label) }),
        ),
      );
    });
    show(rows);
  };
  const pairByLink = async () => {
    const { hosts, port } = await client.call("pairing");
    const [host] = hosts;
    if (host === undefined) throw new PageFault(say.noNetwork);
    const asked = { name: name.value.trim(), role: chosenRole(), link: true } as const;
    const made = await client.call("clients.new", asked);
    // Only the device's own browser shows a QR code, and only it loads the library.
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
  return { card, refresh, hears: ["clients.paired"] };
}
