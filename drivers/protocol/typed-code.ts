/**
 * From keys to codes, purely. A code ends with Enter or Tab, or where the caller says so. One that cannot be read for certain
 * is dropped as a whole: a key that types nothing on this layout, one held with Ctrl, Alt or Meta, events that were lost, too
 * many characters.
 */
import { typedCharsMax } from "../../src/core/limits.ts";
import type { KeyEvent } from "./key-events.ts";
import { characterOf, type LayoutName, type Level } from "./keyboard-layouts.ts";

export type Typed =
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "dropped"; readonly why: string };

export interface Typing {
  /** The code that this event ends; undefined where it ends none. */
  take(event: KeyEvent): Typed | undefined;
  /** True where a code has begun. */
  isTyping(): boolean;
  /** Ends what was typed so far. */
  end(): Typed | undefined;
}

const endKeys: readonly number[] = [28, 96, 15]; // Enter, Enter of the number pad, Tab.
const shiftKeys: readonly number[] = [42, 54];
const altGrKey = 100;
const commandKeys: readonly number[] = [29, 97, 56, 125, 126]; // Ctrl, left Alt, Meta.
const lockKeys: readonly number[] = [58, 69, 70]; // Caps, Num and Scroll Lock: some readers toggle them to be sure.

export function createTyping(layout: LayoutName): Typing {
  const held = new Set<number>();
  let text = "";
  let wrong: string | undefined;
  let isLong = false;

  const level = (): Level => {
    if (held.has(altGrKey)) return "altgr";
    return shiftKeys.some((key) => held.has(key)) ? "shift" : "plain";
  };
  const end = (): Typed | undefined => {
    const typed: Typed | undefined =
      wrong !== undefined
        ? { kind: "dropped", why: wrong }
        : text === ""
          ? undefined
          : { kind: "code", text };
    [text, wrong, isLong] = ["", undefined, false];
    return typed;
  };
  const type = (key: number) => {
    if (commandKeys.some((command) => held.has(command))) {
      wrong ??= `key ${key} was typed with Ctrl, Alt or Meta`;
      return;
    }
    const character = characterOf(layout, key, level());
    if (character === undefined) wrong ??= `key ${key} types nothing on the layout ${layout}`;
    else if (text.length >= typedCharsMax) isLong = true;
    else text += character;
    if (isLong) wrong ??= `it has more than ${typedCharsMax} characters`;
  };

  return {
    take(event) {
      if (event.kind === "lost") {
        held.clear();
        wrong = "some of its keys were lost";
        return undefined;
      }
      const { key } = event;
      if (event.kind === "up") {
        held.delete(key);
        return undefined;
      }
      if (endKeys.includes(key)) return end();
      const isModifier = key === altGrKey || shiftKeys.includes(key) || commandKeys.includes(key);
      if (isModifier) held.add(key);
      else if (!lockKeys.includes(key)) type(key);
      return undefined;
    },
    isTyping: () => text !== "" || wrong !== undefined,
    end,
  };
}
