/** The page's texts in every language: complete, filled and translated. */
import { expect, test } from "bun:test";
import { RpcError } from "../../../../src/client/link.ts";
import { UploadRefused } from "../../../../src/client/upload.ts";
import { describeSettings } from "../../../../src/config/settings-table.ts";
import { englishFaults, faultCodes, launchReasonCodes } from "../../../../src/core/faults.ts";
import { refusalMeanings } from "../../../../src/core/refusals.ts";
import { tagProblems } from "../../../../src/core/shapes.ts";
import { sinceText } from "../../../../src/web/page/local-forms.ts";
import { languages } from "../../../../src/web/page/page-language.ts";
import { PageFault, reasonOf, say, sentenceOf, speak } from "../../../../src/web/page/page-texts.ts";

/** Texts that are the same in English and in another language, by language and path. */
const equal: Readonly<Record<string, readonly string[]>> = {
  de: ["pause", "share.windows"],
  fr: ["cards.playedFor/1", "device.wifi", "backup.positions"],
  es: ["device.wifi", "share.windows"],
  pt: ["device.wifi", "share.windows"],
  ja: ["device.wifi"],
};
/** Texts without a word that a language could change, and the ones that are empty in English. */
const wordless = new Set([
  ...["failedAt", "state.playing", "cards.fields.uid", "device.choices.usb"],
  "device.choices.bluetooth",
  ...faultCodes
    .filter((code) => /^\W*(\{\w+\}\W*)+$/.test(englishFaults[code]))
    .map((code) => `faults.${code}`),
]);
const factsIn = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

/** Each text by its path. A function gives its arity and a sentence that it makes. */
function textsOf(value: unknown, path = ""): readonly (readonly [string, string])[] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value === "function") {
    const many = Array.from({ length: value.length }, () => 2);
    const one = Array.from({ length: value.length }, () => "");
    return [
      [`${path}/${value.length}`, value(...many)],
      [`${path}/${value.length} of nothing`, value(...one)],
    ];
  }
  return Object.entries(value ?? {}).flatMap(([name, inner]) =>
    textsOf(inner, path === "" ? name : `${path}.${name}`),
  );
}

const baseOf = (path: string) => path.replace(/\/.*/, "");
const english = textsOf(say);

test("English has no empty text", () => {
  const empty = english.filter(([path, text]) => text.trim() === "" && !wordless.has(baseOf(path)));
  expect(empty).toEqual([]);
  expect(english.length).toBeGreaterThan(150);
});

const textOf = (table: Readonly<Record<string, string>> = {}, code: string) => table[code] ?? "";

/** The settings that no method but `broker.update` changes. */
const fileSettings = describeSettings().flatMap(({ key, api }) =>
  api === undefined || key.startsWith("mqtt.") ? [key] : [],
);

test("an error of the client or of a later service was an English sentence on a page in Japanese", async () => {
  const refused = (data: object) => new RpcError(1, "a sentence", data);
  const all = (...codes: readonly string[]) => codes.map((refusal) => refused({ reason: "failed", refusal }));
  const errors = [
    new Error("nobody answers there"),
    refused({}),
    refused({ reason: "a later kind" }),
    refused({ reason: "failed", cause: "timeout" }),
    refused({ reason: "write-failed", cause: "locked" }),
    new UploadRefused("a sentence", false),
    ...all(...Object.keys(refusalMeanings), ...launchReasonCodes, "a later code"),
  ];
  for (const { load } of Object.values(languages)) {
    speak(await load?.(), "en");
    const sentences = errors.map(sentenceOf);
    if (load === undefined) expect([...new Set(sentences)]).toEqual(["nobody answers there", "a sentence"]);
    else for (const sentence of sentences) expect(sentence).not.toMatch(/sentence|nobody|^$/);
    expect(sentenceOf(new PageFault("of the page"))).toBe("of the page");
  }
  speak((await languages.de?.load?.()) ?? undefined, "de");
  const field = refused({
    reason: "invalid-params",
    refusal: "mapping-too-long",
    field: "override",
    max: 4096,
  });
  expect(sentenceOf(field)).toContain(say.cards.instead);
  expect(sentenceOf(field)).toContain("4096");
  speak(undefined, "en");
});

/** The settings that the page changes; `settings.describe` gives them these names. */
// The settings of MQTT and the limits of play time have cards of their own.
const pageSettings = describeSettings().flatMap(({ key, api, form }) =>
  api === undefined || /^(?:mqtt|playtime)\./.test(key)
    ? []
    : [{ name: api === "rootFolder" ? "systems.rootFolder" : api, choices: form.choices ?? [] }],
);

test("a new setting had no name or effect on the page, and its choices were the words of the file", () => {
  // The test below shows that the other languages have the same texts as English.
  const { names, effects, choices } = say.device;
  for (const texts of [names, effects])
    expect(Object.keys(texts).toSorted()).toEqual(pageSettings.map(({ name }) => name).toSorted());
  const words = pageSettings.flatMap((one) => one.choices.map(String)).filter((word) => !(word in languages));
  expect([...new Set(words)].toSorted()).toEqual(Object.keys(choices).toSorted());
});

for (const [code, { name, load }] of Object.entries(languages)) {
  if (load === undefined) continue;
  test(`${name} has the texts of English with as many parameters, filled and translated`, async () => {
    speak(await load(), code);
    const texts = textsOf(say);
    expect(sinceText(new Date().toISOString())).not.toBe("this minute");
    for (const reason of ["no-text", ...tagProblems]) expect(Object.keys(say.reasons)).toContain(reason);
    for (const reason of launchReasonCodes)
      expect(["a sentence", say.notStarted]).not.toContain(reasonOf({ reason, error: "a sentence" }));
    // The sentence of the service is English.
    expect(reasonOf({ reason: "a later code", error: "a sentence" })).toBe(say.notStarted);
    for (const code of faultCodes) {
      const given = factsIn(say.faults?.[code] ?? "");
      // `why` is a sentence of the service, or the code of an error.
      const isSentence = !["broker-handshake", "broker-certificate-untrusted"].includes(code);
      const wanted = factsIn(englishFaults[code]).filter((fact) => !isSentence || fact !== "{why}");
      expect([code, given.filter((fact) => fact !== "{subject}")]).toEqual([
        code,
        wanted.filter((fact) => fact !== "{subject}"),
      ]);
    }
    for (const [code, meaning] of Object.entries(refusalMeanings))
      expect([code, factsIn(textOf(say.refusals, code)).filter((fact) => !meaning.includes(fact))]).toEqual([
        code,
        [],
      ]);
    expect(Object.keys(say.settingDocs ?? {}).toSorted()).toEqual(fileSettings.toSorted());
    speak(undefined, "en");
    // English uses the sentences of the service for them.
    const isOfService = (path: string) => /^(?:faults|launches|refusals|settingDocs)\./.test(path);
    const ownPaths = texts.map(([path]) => path).filter((path) => !isOfService(path));
    expect(ownPaths.toSorted()).toEqual(english.map(([path]) => path).toSorted());
    const given = texts.filter(([path]) => !wordless.has(baseOf(path)));
    expect(given.filter(([, text]) => text.trim() === "")).toEqual([]);
    const byPath = new Map([...english, ...textsOf(englishFaults, "faults")]);
    const same = given.filter(([path, text]) => text === byPath.get(path)).map(([path]) => path);
    expect(same).toEqual([...(equal[code] ?? [])]);
  });
}
