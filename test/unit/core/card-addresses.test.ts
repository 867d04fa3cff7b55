/**
 * Cards as they exist in shops and offices, with addresses of other services: each refusal says why the card starts
 * nothing here. The link of a deck stands for its text.
 */
import { expect, test } from "bun:test";
import { addressFault, homeAssistantTag, textOfLaunchLink } from "../../../src/core/card-addresses.ts";
import { readyScript } from "../../../src/script/run-script.ts";

const radio = "is an address and no file: Tapdeck opens only web radio and podcasts of script.allow_stream";

test.each([
  ["https://www.youtube.com/watch", radio],
  ["youtube.com/watch", radio],
  ["open.spotify.com/track/4uLU6hMCjMI75M1A2tKUQC", radio],
  ["www.bbc.co.uk/sounds/play", radio],
  ["spotify:track:4uLU6hMCjMI75M1A2tKUQC", "is a link for the app of Spotify"],
  ["tel:+4930123456", "is a telephone number"],
  ["mailto:ann@example.org", "is a mail address"],
  ["geo:52.52,13.405", "is a place on a map"],
  ["FILE:///home/ann/Game.sfc", "names a file as an address"],
])("%s is named as what it is", (text, why) => {
  expect(addressFault(text)).toStartWith(`${text} ${why}`);
});

test.each([
  "SNES/Game.sfc",
  "Mr. Do!.zip",
  "Video/example.com/Film.mkv",
  "Disc: One/Track.mp3",
  "/media/usb/Stick/a.b/Game.nes",
])("%s is no address", (text) => {
  expect(addressFault(text)).toBeUndefined();
});

test.each([
  "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
  "youtube.com/watch?v=dQw4w9WgXcQ&t=10",
  "https://open.spotify.com/track/4uLU6hMCjMI75M1A2tKUQC?si=0123456789abcdef",
])("the ? of the address %s began options, and the card said that **launch has no option v", (text) => {
  expect(() => readyScript(text, "reader")).toThrow("is an address and no file");
});

test("the ? of an address of mail is not said to be written ^?", () => {
  expect(() => readyScript("mailto:ann@example.org?subject=Hello", "reader")).toThrow(
    /^mailto:ann@example\.org is a mail address, for a phone: put the name of a file on the card$/,
  );
});

test.each([
  ["https://www.home-assistant.io/tag/5f0ba733-172f-430d", "5f0ba733-172f-430d"],
  ["http://home-assistant.io/tag/kitchen/", "kitchen"],
  ["https://www.home-assistant.io/tag/", undefined],
  ["https://www.home-assistant.io/docs/tag", undefined],
  ["https://www.home-assistant.io.example/tag/x", undefined],
  ["SNES/Game.sfc", undefined],
])("the tag of Home Assistant in %p is %p", (text, tag) => {
  expect(homeAssistantTag(text)).toBe(tag);
});

test("an option that is no part of an address is still named", () => {
  expect(() => readyScript("SNES/Game.sfc?v=1", "reader")).toThrow("**launch has no option v");
});

test.each([
  ["http://tapdeck.local:7497/l/SNES/Game.sfc", "SNES/Game.sfc"],
  ["http://192.168.1.5:7497/l/SNES%2FSuper%20Game.sfc", "SNES/Super Game.sfc"],
  ["HTTPS://deck:7498/l/**playlist.play:Audio%3Fmode=shuffle", "**playlist.play:Audio?mode=shuffle"],
  ["http://[fe80::1]:7497/l/NES/Pok%C3%A9.nes", "NES/Poké.nes"],
  [" http://deck:7497/l/@SNES/Game\n", "@SNES/Game"],
])("%p stands for %p", (link, text) => {
  expect(textOfLaunchLink(link, [7498])).toBe(text);
});

test.each([
  "SNES/Game.sfc",
  "http://tapdeck.local/l/SNES/Game.sfc",
  "http://tapdeck.local:8080/l/SNES/Game.sfc",
  "http://tapdeck.local:7497/l/",
  "http://tapdeck.local:7497/l/%zz",
  "http://tapdeck.local:7497/health",
  "http://tapdeck.local:7497/#pair=abc",
  "ftp://tapdeck.local:7497/l/x",
  "httpd/l/x",
])("%p is no link of a deck", (text) => {
  expect(textOfLaunchLink(text, [7498])).toBe(text);
});
