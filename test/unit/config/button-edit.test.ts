/** Changes of `[[buttons]]` in texts as people write them. */
import { expect, test } from "bun:test";
import { editButtons } from "../../../src/config/button-edit.ts";

const file = `# My deck.
[audio]
feedback = false # quiet

# Louder.
[[buttons]]
key = "key_volumeup"
# By five.
script = "**volume:+5"

[[buttons]] # the red one
device = "Case"
key = "KEY_POWER"
script = "**shutdown"

# The media.
[systems]
root_folders = ["/media"]
`;

test("a new button comes last, and the text before it stays", () => {
  const added = editButtons(file, { device: 'My "pad"', key: "REL_DIAL+", script: "**next" });
  expect(added).toBe(`${file}
[[buttons]]
device = "My \\"pad\\""
key = "REL_DIAL+"
script = "**next"
`);
  expect(editButtons("", { key: "KEY_A", script: "**stop" })).toBe(
    '[[buttons]]\nkey = "KEY_A"\nscript = "**stop"\n',
  );
});

test("a button gets another script in its place, and keeps its comments", () => {
  const changed = editButtons(file, { key: "KEY_VOLUMEUP", script: "**volume:+10" }) ?? "";
  expect(changed).toContain(
    '# Louder.\n# By five.\n[[buttons]]\nkey = "KEY_VOLUMEUP"\nscript = "**volume:+10"\n\n[[',
  );
  expect(changed.replace(/# Louder[\s\S]*?\n\n/, "")).toBe(file.replace(/# Louder[\s\S]*?\n\n/, ""));
});

test("a button is removed, and that of another device with this key is not", () => {
  const without = editButtons(file, { device: "Case", key: "KEY_POWER", script: undefined }) ?? "";
  expect(without).not.toContain("KEY_POWER");
  expect(without).toContain("# The media.\n[systems]");
  expect(editButtons(file, { key: "KEY_POWER", script: undefined })).toBe(file);
  const none = editButtons(without, { key: "KEY_VOLUMEUP", script: undefined }) ?? "";
  expect(none).not.toContain("[[buttons]]");
  expect(none).toContain("feedback = false # quiet");
});

test.each([
  'buttons = [{ key = "KEY_A", script = "**stop" }]\n',
  'note = """\n[[buttons]]\n"""\n[[buttons]]\nkey = "KEY_A"\nscript = "**stop"\n',
])("buttons that are written in another way are left to their owner: %j", (text) => {
  expect(editButtons(text, { key: "KEY_A", script: "**next" })).toBeUndefined();
});
