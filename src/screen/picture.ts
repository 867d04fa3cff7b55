/** Chooses the picture of the screen from the facts; this code neither draws nor waits. */
import { screenNameCharsMax, screenReasonCharsMax } from "../core/console-limits.ts";
import { isOnPurpose, type LaunchReason } from "../core/faults.ts";
import type { LaunchFinished, LoadedPlaylist } from "../core/shapes.ts";
import { plainText } from "./screen-lines.ts";

export type Picture = StatePicture | PairingPicture | MenuPicture;

/** A picture that has a drawing and words. */
export type StatePicture =
  | Notice
  | { readonly kind: "ready" | "no-reader" | Ending }
  | { readonly kind: "reader-broken"; readonly reason: string }
  | { readonly kind: "time-over"; readonly reason: string };

/** A picture that disappears after a time. The picture of a start stays until the player draws. */
export type Notice =
  | { readonly kind: "empty" }
  /** `name` is the name of the missing media, or of a USB stick that is not plugged in or was removed during play. */
  | { readonly kind: "not-found" | "stick-away" | "stick-gone"; readonly name: string }
  | Starting
  /** The items of a playlist, each with its place. */
  | { readonly kind: "playlist"; readonly name: string; readonly items: readonly string[] }
  /** A launch that failed. `cause` gives the reason in plain words, if the screen has words for it. */
  | { readonly kind: "failed"; readonly reason: string; readonly cause?: LaunchReason };

/** The machine is about to stop or to restart. */
export type Ending = "switching-off" | "restarting";

export function isEnding({ kind }: Pick<Picture, "kind">): boolean {
  return kind === "switching-off" || kind === "restarting";
}

const ownerActs = ["backup", "restore", "device.update", "device.restart", "device.shutdown"] as const;
/** The methods by which an owner over the network administers the device; the screen names them for a while. */
export type OwnerAct = (typeof ownerActs)[number];

export function isOwnerAct(method: string): method is OwnerAct {
  return ownerActs.some((act) => act === method);
}

/** The act of an owner over the network, and the name of the owner's phone. */
export interface ShownAct {
  readonly act: OwnerAct;
  readonly name: string;
}

/** The data of the pairing picture. */
export interface ShownPairing {
  readonly link: string;
  /** The link without the code, for people who type it. */
  readonly base: string;
  readonly code: string;
}

interface PairingPicture extends ShownPairing {
  readonly kind: "pairing";
}

export interface MenuTile {
  readonly name: string;
  /** A drawing of lines in a square of 24 units. It is not drawn if there is a picture. */
  readonly symbol?: string;
  /** A PNG file in base64. */
  readonly picture?: string;
}

/** One page of the menu. */
export interface ShownMenu {
  readonly title: string;
  /** The tiles, at most `menuTilesMax`, or the keys of a keyboard. */
  readonly tiles: readonly MenuTile[];
  /** The typed text, if the tiles are keys. */
  readonly typed?: string;
  /** True if a level is shown below the first row of tiles. The page then has no second row. */
  readonly hasLevel?: true;
  /** The reason why there are no tiles; absent means the words of an empty list. */
  readonly note?: string;
  /** The number of this page, from 1 on, and the number of all pages. */
  readonly page: number;
  readonly pages: number;
}

interface MenuPicture extends ShownMenu {
  readonly kind: "menu";
}

interface Starting {
  readonly kind: "starting";
  /** The name of the media; empty until the start takes noticeably long. */
  readonly name: string;
  /** True for a game that a controller can end. */
  readonly isGame?: true;
}

export interface ScreenFacts {
  readonly hasReader: boolean;
  /** The reason why a plugged-in reader does not work. */
  readonly brokenReader: string | undefined;
  /** True after the first look for readers. */
  readonly isSettled: boolean;
  /** True while a player has the screen. */
  readonly isPlaying: boolean;
  /** The reason why nothing may start at present. */
  readonly refusal: string | undefined;
  readonly pairing: PairingPicture | undefined;
  readonly menu: ShownMenu | undefined;
  readonly notice: Notice | undefined;
  readonly ending: Ending | undefined;
}

/**
 * The picture for these facts; undefined if nothing is to be drawn, because a player has the screen or the facts are
 * not known yet.
 */
export function pictureOf(facts: ScreenFacts): Picture | undefined {
  const { hasReader, brokenReader, isSettled, isPlaying, refusal, pairing, menu, notice, ending } = facts;
  if (isPlaying) return notice?.kind === "starting" ? notice : undefined;
  if (ending !== undefined) return { kind: ending };
  if (pairing !== undefined) return pairing;
  if (menu !== undefined) return { kind: "menu", ...menu };
  if (refusal !== undefined) return { kind: "time-over", reason: plainText(refusal, screenReasonCharsMax) };
  if (notice !== undefined) return notice;
  if (hasReader) return { kind: "ready" };
  if (!isSettled) return undefined;
  return brokenReader === undefined
    ? { kind: "no-reader" }
    : { kind: "reader-broken", reason: plainText(brokenReader, screenReasonCharsMax) };
}

type FailedLaunch = Pick<LaunchFinished, "text" | "error" | "reason" | "subject">;

const empty: readonly LaunchReason[] = ["blank", "unformatted", "no-text"];

/** The notice for the end of media; undefined if no message is needed, because they were ended on purpose. */
export function noticeOf({
  text,
  error = "",
  reason = "failed",
  subject = "",
}: FailedLaunch): Notice | undefined {
  if (isOnPurpose(reason)) return undefined;
  if (empty.includes(reason)) return { kind: "empty" };
  if (reason === "stick-away") return { kind: "stick-away", name: plainText(subject, screenNameCharsMax) };
  if (reason === "media-not-found") return { kind: "not-found", name: nameIn(text) };
  return { kind: "failed", reason: plainText(error, screenReasonCharsMax), cause: reason };
}

/** The notice for media that were stopped because this USB stick was removed. */
export function stickGone(stick: string): Notice {
  return { kind: "stick-gone", name: plainText(stick, screenNameCharsMax) };
}

export function startingOf(mediaName: string, isGame = false): Notice {
  const name = plainText(mediaName, screenNameCharsMax);
  return { kind: "starting", name, ...(isGame ? { isGame } : {}) };
}

// The screen shows at most this many items of a playlist, because more would be too small to read.
const playlistRowsMax = 6;

export function playlistOf({ name, place, items = [] }: LoadedPlaylist): Notice {
  const next = Math.max(
    0,
    Math.min(
      items.findIndex((item) => item.place === place),
      items.length - playlistRowsMax,
    ),
  );
  const rows = items.slice(next, next + playlistRowsMax);
  return {
    kind: "playlist",
    name: plainText(name, screenNameCharsMax),
    items: rows.map((item) => plainText(`${item.place}. ${item.name}`, screenNameCharsMax)),
  };
}

/** The last part of a path without its extension; empty for scripts and addresses, which may hold secrets. */
function nameIn(text: string): string {
  if (text.startsWith("**") || text.includes("://")) return "";
  const [path = ""] = text.split("?");
  const name = path.split("/").findLast((part) => part !== "") ?? "";
  return plainText(name.replace(/\.[a-z0-9]{1,5}$/i, ""), screenNameCharsMax);
}
