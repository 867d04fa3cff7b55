/** Files of packages that the compiled program embeds: an import of one is the path to read it from. */
declare module "*.ttf" {
  const path: string;
  export = path;
}

declare module "*.wasm" {
  const path: string;
  export = path;
}
