/** The buttons of the case: an owner teaches them by a press. */
import * as v from "valibot";
import { buttonTeachingMs, settingsTextCharsMax } from "../../core/limits.ts";
import { method } from "../method.ts";

const device = v.pipe(v.string(), v.minLength(1), v.maxLength(settingsTextCharsMax));
const key = v.pipe(
  v.string(),
  v.maxLength(32),
  v.regex(/^(?:KEY|BTN)_\w+$|^REL_\w+[+-]$/, 'it is no key, such as "KEY_VOLUMEUP" or "REL_DIAL+"'),
);
const script = v.pipe(v.string(), v.minLength(1), v.maxLength(settingsTextCharsMax));
const place = { device: v.optional(device), key };

export const buttonMethods = [
  method({
    name: "buttons",
    right: "own",
    docs: "The `[[buttons]]` of the config file, in its order: buttons, keys and knobs that run a script as a card on the device would. Without `device` they are those of every input device; it may hold `*` for any characters.",
    result: v.object({
      buttons: v.array(
        v.object({ device: v.exactOptional(v.string()), key: v.string(), script: v.string() }),
      ),
    }),
    run: ({ buttons }) => ({ buttons: buttons.list() }),
  }),
  method({
    name: "buttons.learn",
    right: "own",
    isLong: true,
    docs: "Waits for `waitMs`, at most 30 s, for the next press of a button or key, or turn of a knob, on any input device but those of macros, and returns its device and its name for `buttons.save`; nothing if none came, or if media began to play. Only this caller gets the press. Until then no button runs its script, and the menu of the television takes no key. It is refused with `conflict` while media play, because their player may use the device, and while another teaching waits; and with `busy` after 20 teachings within an hour.",
    params: v.object({
      waitMs: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(buttonTeachingMs)),
    }),
    changes: () => "the next press",
    result: v.object({ device: v.exactOptional(v.string()), key: v.exactOptional(v.string()) }),
    errors: ["conflict", "busy"],
    run: ({ buttons }, { waitMs }, caller) => buttons.learn(caller, waitMs),
  }),
  method({
    name: "buttons.learn.cancel",
    right: "own",
    docs: "Ends the teaching that waits for a press. Without one nothing happens.",
    run: ({ buttons }) => buttons.cancel(),
  }),
  method({
    name: "buttons.save",
    right: "own",
    docs: "Stores the script of a button in the config file, at once. That of the same device and key is replaced.",
    params: v.object({ ...place, script }),
    changes: ({ device = "*", key }) => `${key} of ${device}`,
    errors: ["failed", "busy"],
    run: ({ buttons }, button) => buttons.save(button),
  }),
  method({
    name: "buttons.remove",
    right: "own",
    docs: "Removes a button from the config file. Without such a button nothing changes.",
    params: v.object(place),
    changes: ({ device = "*", key }) => `${key} of ${device}`,
    errors: ["failed"],
    run: ({ buttons }, button) => buttons.remove(button),
  }),
] as const;
