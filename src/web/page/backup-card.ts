/** The card of backups: downloads one, and restores a file after a look at its content. */
import type { Client } from "../../client/client.ts";
import type { BackupContent } from "../../core/device-shapes.ts";
import { button, el, named, note, openDialog, section, telling } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Preview = BackupContent & { readonly now: BackupContent["counts"] };

export function backupCard({ client }: Shared): PageCard {
  const phrase = passphraseField();
  const download = button(
    say.backup.download,
    async () => {
      const { leftOut } = await client.call("backup", withPhrase({}, phrase));
      phrase.value = "";
      const address = URL.createObjectURL(await received(client));
      const day = new Date().toISOString().slice(0, 10);
      el("a", { href: address, download: `tapdeck-${day}.tapdeck` }).click();
      URL.revokeObjectURL(address);
      const left = leftOut.length === 0 ? "" : say.backup.leftOut(leftOut.length);
      note(`${say.backup.made} ${left}`.trim());
    },
    { class: "main" },
  );
  const file = el("input", { type: "file", hidden: "", "aria-label": say.backup.choose });
  file.addEventListener("change", () => {
    const [chosen] = file.files ?? [];
    file.value = "";
    if (chosen !== undefined) telling(() => preview(chosen))();
  });
  const choose = button(say.backup.choose, async () => file.click());
  const preview = async (chosen: File) => {
    const content = await sent(client, chosen);
    const opening = passphraseField();
    const restore = button(
      say.backup.restore,
      async () => {
        await client.call("restore", withPhrase({ sha256: content.sha256 }, opening));
        dialog.close();
        note(say.backup.restored);
      },
      { class: "main wide" },
    );
    const dialog = openDialog(
      say.backup.restore,
      say.cancel,
      el("p", {}, say.backup.madeAt(new Date(content.made), content.version)),
      el("ul", { class: "rows" }, ...contentRows(content)),
      el("p", { class: "quiet" }, say.backup.restoreSure),
      content.clients === "locked" ? el("p", {}, opening) : undefined,
      restore,
    );
  };
  const bar = el("div", { class: "bar" }, download, choose);
  const what = el("p", { class: "quiet" }, say.backup.what);
  return { card: section(say.backup.title, what, phrase, bar, file) };
}

/** The backup that was made last, read in parts, because a paired phone has no other private connection. */
async function received(client: Client): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let offset = 0; ; ) {
    const { bytes, data } = await client.call("backup.read", { offset });
    const part = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
    parts.push(part);
    offset += part.length;
    if (offset >= bytes || part.length === 0) return new Blob(parts, { type: "application/octet-stream" });
  }
}

// The bytes of one request. Three bytes are four characters of base64.
const partBytes = 192 * 1024;

/** Sends the file in parts, and returns its content. */
async function sent(client: Client, file: File): Promise<Preview> {
  for (let offset = 0; ; offset += partBytes) {
    const bytes = new Uint8Array(await file.slice(offset, offset + partBytes).arrayBuffer());
    const isLast = offset + partBytes >= file.size;
    const { content } = await client.call("backup.send", { offset, data: base64Of(bytes), isLast });
    if (content !== undefined) return content;
  }
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  // A call has a limited number of arguments.
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function contentRows({ counts, now, changes, notes, clients }: Preview): readonly HTMLElement[] {
  const row = (name: string, facts: string, isBad = false) =>
    el("li", {}, el("div", { class: "what" }, ...named(name, facts, isBad)));
  const { mappings, mappingFiles, history, positions } = say.backup;
  return [
    row(mappings, say.backup.insteadOf(counts.mappings, now.mappings)),
    row(mappingFiles, say.backup.insteadOf(counts.mappingFiles, now.mappingFiles)),
    row(history, say.backup.insteadOf(counts.history, now.history)),
    row(positions, say.backup.insteadOf(counts.positions, now.positions)),
    row(say.backup.settings, changes.length === 0 ? say.backup.same : changes.join(", ")),
    row(say.phones, clients === "locked" ? say.backup.locked : say.backup.same),
    ...notes.map(({ code, subject }) => row(say.backup.warning, say.backup.notes[code](subject), true)),
  ];
}

function passphraseField(): HTMLInputElement {
  const name = say.backup.passphrase;
  // A password manager may offer to store it.
  return el("input", {
    type: "password",
    autocomplete: "new-password",
    placeholder: name,
    "aria-label": name,
  });
}

function withPhrase<Params extends object>(params: Params, { value }: HTMLInputElement) {
  return value === "" ? params : { ...params, passphrase: value };
}
