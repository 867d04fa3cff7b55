/**
 * Makes the client as a package for other people's programs, in build/client: one module without dependencies, for
 * browsers, Node and Bun, its types, and the README and the examples of packaging/npm. `make clients` packs it.
 */
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../package.json";
import { type DescribedMethod, describeApi } from "../src/api/openrpc.ts";

const root = join(import.meta.dir, "..");
export const packageFolder = join(root, "build/client");

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
}

/** Writes the package's files. */
export async function makeClientPackage(): Promise<void> {
  await rm(packageFolder, { recursive: true, force: true });
  await mkdir(packageFolder, { recursive: true });
  const built = await Bun.build({
    entrypoints: [join(root, "src/client/client.ts")],
    outdir: packageFolder,
    // libsodium is in a part of its own, which is loaded for the first encryption.
    splitting: true,
    naming: { entry: "index.js", chunk: "part-[hash].js" },
    target: "browser",
    format: "esm",
  });
  if (!built.success) throw new AggregateError(built.logs, "the client could not be bundled");
  const write = (name: string, text: string) => Bun.write(join(packageFolder, name), text);
  for (const [name, text] of await declarations()) await write(name, text);
  await write("calls.d.ts", callsText());
  await cp(join(root, "packaging/npm"), packageFolder, { recursive: true });
  await write("LICENSE", await readFile(join(root, "LICENSE"), "utf8"));
  const facts = {
    name: "tapdeck-client",
    version,
    description: "A client of Tapdeck's control API.",
    license: "MIT",
    type: "module",
    types: "./index.d.ts",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
    files: ["*.js", "*.d.ts", "examples"],
    engines: { node: ">=20.10" },
    keywords: ["tapdeck", "nfc", "json-rpc", "websocket", "home-automation", "retro-gaming"],
  };
  await write("package.json", `${JSON.stringify(facts, null, 2)}\n`);
}

/** The modules whose types a user of client.ts sees. */
const typed = ["client", "link", "pair-client"] as const;

/** The declarations of client.ts, which become those of the package, and the declarations that it names. */
async function declarations(): Promise<readonly (readonly [name: string, text: string])[]> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-client-"));
  const command = [join(root, "node_modules/.bin/tsc"), "-p", join(root, "tools/client-types.json")];
  const child = Bun.spawn([...command, "--outDir", folder], { stdout: "pipe", stderr: "inherit" });
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`tsc: ${said}`);
  const texts = await Promise.all(
    typed.map(async (name) => {
      const text = await readFile(join(folder, `src/client/${name}.d.ts`), "utf8");
      const plain = text
        // The symbol of `Disposable` is missing from the library of older compilers.
        .replace(" extends Disposable {", " {")
        .replaceAll('"../api/methods/index.ts"', '"./calls.js"')
        .replace(/"(\.\/[\w-]+)\.ts"/g, '"$1.js"');
      return [name === "client" ? "index.d.ts" : `${name}.d.ts`, plain] as const;
    }),
  );
  await rm(folder, { recursive: true });
  return texts;
}

/** Params and results as plain types, made from the API's own description. */
function callsText(): string {
  const { methods } = describeApi(version);
  const calls = methods.filter(({ result }) => result !== undefined);
  const told = methods.filter(({ result }) => result === undefined);
  const call = (method: DescribedMethod) =>
    `  /** ${method.description} */\n  readonly ${JSON.stringify(method.name)}: {\n    readonly params: ${paramsType(method)};\n    readonly result: ${typeOf(method.result?.schema ?? {})};\n  };`;
  const notification = (method: DescribedMethod) =>
    `  /** ${method.description} */\n  | { readonly method: ${JSON.stringify(method.name)}; readonly params: ${typeOf(method["x-params"])} }`;
  return `/** Params and result of each method. */
export interface Calls {
${calls.map(call).join("\n")}
}

export type Notification =
${told.map(notification).join("\n")};
`;
}

function paramsType(method: DescribedMethod): string {
  const shape = typeOf(method["x-params"]);
  return method["x-shorthand"] === undefined ? shape : `${shape} | string`;
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(([name, field]) => {
      const optional = schema.required?.includes(name) === true ? "" : "?";
      return `readonly ${name}${optional}: ${typeOf(field)}`;
    });
    return `{ ${fields.join("; ")} }`;
  }
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.type === "array") return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (schema.type === "integer") return "number";
  return schema.type ?? "unknown";
}

if (import.meta.main) await makeClientPackage();
