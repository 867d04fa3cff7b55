/**
 * Every text of the page has a key in the tables of its languages. The syntax trees show that its sources hold no other
 * text for people.
 * Covers: src/web/page.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as ts from "typescript/unstable/ast";
import { API } from "typescript/unstable/async";
import { languages } from "../../../../src/web/page/page-language.ts";
import { root } from "../../../helpers/source-tree.ts";

const folder = join(root, "src/web/page");
const sources = readdirSync(folder).filter((name) => name.endsWith(".ts"));

/** Names, signs and forms that are the same in every language, in the spelling of the sources. */
const sameEverywhere = new Set([
  ...[
    "Tapdeck",
    "Tapdeck ",
    " · Tapdeck",
    "MQTT",
    "Bluetooth",
    "UID ",
    " dBm",
    " °C",
    "https://",
    "000 000",
    "5, 1",
  ],
  ...["mqtts://homeassistant.local:8883", "mqtt://homeassistant.local:1883"],
  // Each language is listed by its own name.
  ...Object.values(languages).map(({ name }) => name),
]);

/** Attributes that people see or hear. */
const readAttributes = new Set([
  "aria-label",
  "aria-valuetext",
  "aria-description",
  "title",
  "placeholder",
  "alt",
]);
/** Properties of elements that people see. */
const readProperties = new Set([
  "textContent",
  "innerText",
  "innerHTML",
  "title",
  "placeholder",
  "ariaLabel",
]);
/** The functions that show texts, and the places of the arguments that are texts. */
const shown: Readonly<Record<string, (place: number) => boolean>> = {
  el: (place) => place >= 2,
  section: () => true,
  named: () => true,
  listCard: () => true,
  openDialog: () => true,
  note: (place) => place === 0,
  button: (place) => place === 0,
  labelled: (place) => place === 0,
  row: () => true,
  slider: (place) => place === 0,
  shelf: (place) => place === 0,
  account: (place) => place === 0,
  asking: (place) => place < 2,
  PageFault: () => true,
  append: () => true,
  prepend: () => true,
  replaceChildren: () => true,
  after: () => true,
  createTextNode: () => true,
};

const isText = (node: ts.Node): node is ts.StringLiteral | ts.NoSubstitutionTemplateLiteral =>
  ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node);
const hasWords = (text: string) => /\p{L}/u.test(text) && !sameEverywhere.has(text);

/** The texts that an expression may give, without those that a call makes from other values. */
function textsIn(node: ts.Node): readonly string[] {
  if (isText(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [
      node.head.text,
      ...node.templateSpans.flatMap(({ expression, literal }) => [...textsIn(expression), literal.text]),
    ];
  if (ts.isConditionalExpression(node)) return [...textsIn(node.whenTrue), ...textsIn(node.whenFalse)];
  if (ts.isParenthesizedExpression(node) || ts.isSpreadElement(node) || ts.isAsExpression(node))
    return textsIn(node.expression);
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(textsIn);
  if (ts.isBinaryExpression(node))
    return isComparison(node.operatorToken.kind) ? [] : [...textsIn(node.left), ...textsIn(node.right)];
  return [];
}

function isComparison(kind: ts.SyntaxKind): boolean {
  return (
    kind === ts.SyntaxKind.EqualsEqualsEqualsToken ||
    kind === ts.SyntaxKind.ExclamationEqualsEqualsToken ||
    kind === ts.SyntaxKind.InKeyword
  );
}

const nameOf = (node: ts.Node): string =>
  ts.isPropertyAccessExpression(node) ? node.name.text : ts.isIdentifier(node) ? node.text : "";

const propertyOf = (name: ts.PropertyName) => (ts.isIdentifier(name) || isText(name) ? name.text : "");

/** The literal texts of a node itself that reach the page. */
function shownBy(node: ts.Node): readonly string[] {
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const args = node.arguments ?? [];
    const name = nameOf(node.expression);
    const isShown = Object.hasOwn(shown, name) ? shown[name] : undefined;
    if (isShown !== undefined) return args.filter((_, place) => isShown(place)).flatMap(textsIn);
    const [first, second] = args;
    const isRead =
      name === "setAttribute" && first !== undefined && isText(first) && readAttributes.has(first.text);
    return isRead && second !== undefined ? textsIn(second) : [];
  }
  if (ts.isPropertyAssignment(node))
    return readAttributes.has(propertyOf(node.name)) ? textsIn(node.initializer) : [];
  const isAssignment = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  return isAssignment && readProperties.has(nameOf(node.left)) ? textsIn(node.right) : [];
}

/** A literal that looks like a sentence or a label in any place: two words, or a capital letter and more. */
function looksRead(text: string): boolean {
  const isCode = /[/{}<>=_$#*^[\]\\]|^[a-z-]+(?: [a-z-]+)*$|^[MmLlHhVvZz\d\s.,-]+$/.test(text);
  return !isCode && /^\p{Lu}\p{Ll}+|\p{L}{2,} \p{L}{2,}|\p{Lo}/u.test(text);
}

/** Words of the browser and of its formats. */
const ofBrowser = new Set(["Enter", "Files", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);
const formats = /^(?:Audio|Video|Image|NFKD|NFD|NFC|Mac OS|Mac|[A-Z]\w+Error|PageFault)$/;

/** The texts for people in a tree, each with its line. */
function literalsOf(name: string, tree: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node, parent?: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    const line = tree.text.slice(0, node.end).split("\n").length;
    const isThrown = parent !== undefined && ts.isNewExpression(parent);
    const isLoose = isText(node) && hasWords(node.text) && looksRead(node.text) && !isThrown;
    const own = isLoose && !ofBrowser.has(node.text) && !formats.test(node.text) ? [node.text] : [];
    for (const text of [...shownBy(node).filter(hasWords), ...own]) found.push(`${name}:${line} ${text}`);
    node.forEachChild((child) => visit(child, node));
  };
  visit(tree);
  return [...new Set(found)];
}

const snippets = [
  ['el("p", {}, "Hello")', "Hello"],
  ['el("p", {}, isOn ? say.on : "off now")', "off now"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a source text of the page.
  ["el('p', {}, `${count} taps`)", " taps"],
  ['el("input", { placeholder: "Name" })', "Name"],
  ['el("input", { ...more, "aria-label": name || "Name" })', "Name"],
  ['section("Taps", list)', "Taps"],
  ['button("go", run)', "go"],
  ['note("saved")', "saved"],
  ['list.append("nothing")', "nothing"],
  ['line.textContent = "lost"', "lost"],
  ['line.setAttribute("title", "lost")', "lost"],
  ['throw new PageFault("wrong")', "wrong"],
  ['const words = { on: "It works" }', "It works"],
  ['const words = { on: "動作中" }', "動作中"],
] as const;

/** The compiler, with the sources of the page and the snippets in one project. */
const made = mkdtempSync(join(tmpdir(), "tapdeck-literals-"));
const snippetFile = (place: number) => join(made, `snippet${place}.ts`);
const compiler = new API({ cwd: root });
let treeOf: (path: string) => Promise<ts.SourceFile | undefined> = async () => undefined;
beforeAll(async () => {
  for (const [place, [source]] of snippets.entries()) writeFileSync(snippetFile(place), source);
  const files = [...sources.map((name) => join(folder, name)), ...snippets.map((_, at) => snippetFile(at))];
  const project = join(made, "tsconfig.json");
  const compilerOptions = { noResolve: true, noLib: true, allowImportingTsExtensions: true, noEmit: true };
  writeFileSync(project, JSON.stringify({ files, compilerOptions }));
  const [opened] = (await compiler.updateSnapshot({ openProjects: [project] })).getProjects();
  treeOf = async (path) => opened?.program.getSourceFile(path);
});
afterAll(async () => {
  await compiler.close();
  rmSync(made, { recursive: true });
});

async function literalsIn(name: string, path: string): Promise<readonly string[]> {
  const tree = await treeOf(path);
  if (tree === undefined) throw new Error(`the compiler has no tree of ${path}`);
  return literalsOf(name, tree);
}

test("no source of the page holds a text for people outside the tables of its languages", async () => {
  expect(sources.length).toBeGreaterThan(35);
  const found = await Promise.all(sources.map((name) => literalsIn(name, join(folder, name))));
  expect(found.flat()).toEqual([]);
});

test.each(snippets.map(([source, text], place) => [source, text, place] as const))(
  "a literal was shown in English on every page: %s",
  async (_, text, place) => {
    expect(await literalsIn("page", snippetFile(place))).toEqual([`page:1 ${text}`]);
  },
);

test("the page's HTML holds only its name, and for browsers without scripts a sentence in each language", () => {
  const html = readFileSync(join(folder, "index.html"), "utf8");
  const body = /<body>([\s\S]*)<\/body>/.exec(html)?.[1] ?? "";
  const [, noScript = ""] = /<noscript>([\s\S]*?)<\/noscript>/.exec(body) ?? [];
  const langs = [...noScript.matchAll(/<p lang="(\w+)">[^<]+<\/p>/g)].map(([, lang]) => lang);
  expect(langs).toEqual(["en", "de", "fr", "es", "pt", "ja"]);
  const words = body
    .replace(/<noscript>[\s\S]*?<\/noscript>/, "")
    .replace(/<[^>]*>/g, " ")
    .match(/\p{L}+/gu);
  expect(words).toEqual(["Tapdeck"]);
  for (const [, text] of body.matchAll(/(?:aria-label|title|placeholder|alt)="([^"]*)"/g))
    expect(text).toBe("");
});
